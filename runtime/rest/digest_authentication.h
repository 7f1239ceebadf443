#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/clock.h"
#include "runtime/base/mutex.h"
#include "runtime/base/random.h"
#include "runtime/rest/http_message.h"

namespace freshet::rest {

/// Who sends a request shows that he knows a secret, without saying it: HTTP Digest (RFC 7616) with
/// SHA-256 and `qop=auth`. A proof is good for one request: its number must be a new one for its
/// nonce, and nonces are the server's own, of the last minutes. Thread-safe.
///
/// A nonce says when it was made and is signed, so that nobody who asks for many takes memory; what
/// is kept are the numbers that were used, of nonces that somebody used rightly.
class DigestAuthentication {
 public:
  static constexpr const char* kUser = "freshet";
  static constexpr const char* kRealm = "freshet";
  static constexpr Duration kNonceAge = 5min;
  static constexpr size_t kNoncesMax = 4096;  // Used ones. The oldest go, and are good no more.

  DigestAuthentication(std::string secret, const Clock& clock, std::unique_ptr<Random> random);

  /// nullopt when it is all right, else the answer: 401, with a challenge.
  std::optional<Response> check(const Request&);

 private:
  enum class Verdict { kRight, kStale, kWrong };
  /// Which numbers of a nonce were used: the highest, and of the 64 before it each by a bit.
  struct Used {
    uint64_t highest = 0;
    uint64_t before = 0;
  };

  Verdict judge(const Request&);
  bool take_number(const std::string& nonce, uint64_t number);
  std::string make_nonce();
  std::string signature_of(std::string_view stem) const;
  /// When it was made; nullopt when it is not our own.
  std::optional<TimePoint> made_at(std::string_view nonce) const;

  const std::string secret_;
  const Clock& clock_;
  const std::string key_;  // Of signatures.
  Mutex mutex_;
  const std::unique_ptr<Random> random_ GUARDED_BY(mutex_);
  std::map<std::string, Used> used_ GUARDED_BY(mutex_);  // By nonce: the oldest first.
  std::string forgotten_ GUARDED_BY(mutex_);             // The youngest that was dropped.
};

/// What a header `Authorization: Digest ...` says. nullopt when it is no such one, or says
/// something twice.
std::optional<std::map<std::string, std::string>> parse_digest(std::string_view authorization);

/// The proof of RFC 7616 with SHA-256 and `qop=auth`, as hex digits.
struct DigestProof {
  std::string user, realm, secret;
  std::string method, target;
  std::string nonce, count, client_nonce;
};
std::string digest_response(const DigestProof&);

}  // namespace freshet::rest
