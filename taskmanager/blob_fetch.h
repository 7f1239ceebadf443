#pragma once

#include <memory>
#include <string>

#include "network/message_channel.h"
#include "network/transport.h"
#include "runtime/base/mailbox.h"
#include "runtime/base/unique_function.h"
#include "taskmanager/hello.h"

namespace freshet {

namespace proto {
class Envelope;
}

/// Gets one blob from the JobManager, over a connection of its own, so that a large module does not
/// hold up control messages. Belongs to the mailbox' thread; keeps itself alive until `done` has
/// run, on that thread, once.
class BlobFetch final : public MessageChannel::Handler,
                        public std::enable_shared_from_this<BlobFetch> {
 public:
  struct Options {
    std::string what = "module";  // In messages of errors.
    Address job_manager;
    std::string secret;
    Random* random = nullptr;  // For the greeting; outlives the fetch.
    std::string library_version;
    Duration timeout = 30s;  // Of the connection, and of the silence between two chunks.
    uint64_t size_max_bytes = 1ull << 30;
  };
  using Done = UniqueFunction<void(Result<std::string>)>;

  /// `transport` and `mailbox` outlive it or its cancel().
  static std::shared_ptr<BlobFetch> start(const Options&, Transport&, Mailbox&, std::string hash,
                                          Done done);

  /// `done` does not run any more.
  void cancel();

  void on_message(const std::shared_ptr<MessageChannel>&, std::string payload) override;
  void on_closed(const std::shared_ptr<MessageChannel>&, const Status& why) override;

  BlobFetch(const Options&, Mailbox&, std::string hash, Done done);

 private:
  void on_connected(Result<std::shared_ptr<Connection>>);
  void on_greeting(const proto::Envelope&);
  void restart_timer();
  void end(Result<std::string>);

  const Options options_;
  Mailbox& mailbox_;
  const std::string hash_;
  Done done_;  // Empty: it has ended.
  Greeting greeting_;
  std::shared_ptr<MessageChannel> channel_;
  std::shared_ptr<BlobFetch> self_;
  TimerId timer_;
  std::string bytes_;
};

}  // namespace freshet
