#pragma once

#include <cstdint>
#include <string>

#include "network/transport.h"
#include "runtime/base/random.h"
#include "runtime/base/secret_handshake.h"
#include "runtime/base/status.h"

namespace freshet {

namespace proto {
class Envelope;
class HelloReply;
}  // namespace proto

/// Who connects. The numbers of proto::Hello::Role.
enum class HelloRole : uint8_t { kTaskManager = 1, kClient = 2, kBlobClient = 3 };

/// How a connection to the JobManager begins, as who connects sees it: hello() is the first
/// message; every answer goes to on_message() until done(). Nothing else may be said before, and
/// nothing that comes before is believed.
class Greeting {
 public:
  struct Options {
    HelloRole role = HelloRole::kTaskManager;
    Address job_manager;
    std::string library_version;
    std::string secret;  // Empty: none.
  };

  /// `random` must be hard to guess when there is a secret.
  Greeting(Options options, Random& random);

  std::string hello() const;

  /// The message to send next; empty: none. An error ends the connection.
  Result<std::string> on_message(const proto::Envelope&);

  bool done() const { return done_; }
  /// The JobManager is of another version: people must replace one of the two.
  bool other_version() const { return other_version_; }
  /// The error is in the JobManager's words.
  bool refused() const { return refused_; }
  /// Of the JobManager, once done().
  uint64_t epoch() const { return epoch_; }

 private:
  Status on_reply(const proto::HelloReply&);
  std::string peer() const { return "the JobManager at " + options_.job_manager.to_string(); }

  const Options options_;
  const std::string self_;
  SecretHandshake handshake_;
  bool challenged_ = false;
  bool done_ = false;
  bool other_version_ = false;
  bool refused_ = false;
  uint64_t epoch_ = 0;
};

}  // namespace freshet
