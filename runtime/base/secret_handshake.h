#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "runtime/base/random.h"
#include "runtime/base/status.h"

namespace freshet {

/// Which end of a connection: each proves itself in words of its own, so neither can be given its
/// own words back.
enum class HandshakeSide { kConnecting, kAccepting };

/// How the two ends of a connection prove to each other that they know the shared secret, without
/// saying it:
///
///   connecting -> accepting   its nonce; empty: it has no secret
///   accepting -> connecting   its nonce
///   connecting -> accepting   its proof
///   accepting -> connecting   its proof, once it has checked the other
///
///   nonce := 32 random bytes
///   proof := HMAC-SHA256(secret, label of the side, nonce of the connecting side, nonce of the
///            accepting side, what both know of the connection)
///
/// Both nonces are in each proof, so a proof that was recorded is worth nothing on another
/// connection. Where no side has a secret, nothing but the empty nonce is said.
class SecretHandshake {
 public:
  static constexpr size_t kNonceBytes = 32;
  static constexpr size_t kProofBytes = 32;

  struct Options {
    HandshakeSide side = HandshakeSide::kConnecting;
    std::string secret;  // Empty: none.
    std::string self;    // For messages: "this JobManager".
    std::string peer;    // "a client".
  };

  /// Takes its nonce from `random`, if it has a secret. Whoever can guess it can prepare for it.
  SecretHandshake(Options options, Random& random);

  bool has_secret() const { return !options_.secret.empty(); }
  /// Empty without a secret.
  const std::string& nonce() const { return nonce_; }

  /// Takes the peer's nonce, and what both know of the connection. kFailedPrecondition when only
  /// one of the two has a secret; kDataLoss when it is no nonce, or our own.
  Status meet(std::string_view nonce_of_peer, std::string_view connection);

  /// After meet(), with a secret.
  std::string proof() const;

  /// kFailedPrecondition for what does not prove that the peer knows the secret. Takes as long
  /// whatever the difference.
  Status check(std::string_view proof_of_peer) const;

 private:
  std::string proof_of(HandshakeSide side) const;
  Status differs(const std::string& how) const;

  const Options options_;
  const std::string nonce_;
  std::string nonce_of_peer_;
  std::string connection_;
};

/// RFC 2104 with SHA-256; 32 bytes.
std::string hmac_sha256(std::string_view key, std::string_view message);

}  // namespace freshet
