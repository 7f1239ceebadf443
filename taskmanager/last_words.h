#pragma once

#include <functional>
#include <memory>
#include <string>

#include "network/message_channel.h"
#include "network/transport.h"
#include "runtime/base/crash_report.h"
#include "runtime/base/mailbox.h"
#include "taskmanager/hello.h"

namespace freshet {

/// Tells the JobManager of the crash of this TaskManager over a connection of its own, when those
/// who hold the other one stand still. Belongs to the mailbox' thread; keeps itself alive until
/// `done` has run, on that thread, once: the JobManager has heard it, or never will.
class LastWords final : public MessageChannel::Handler,
                        public std::enable_shared_from_this<LastWords> {
 public:
  struct Options {
    TaskManagerId task_manager;
    Address job_manager;
    std::string secret;
    std::string library_version;
    Duration timeout = 1s;  // Of the connection.
  };

  static void say(const Options&, const CrashReport&, Transport&, Mailbox&, Random&,
                  std::function<void()> done);

  void on_message(const std::shared_ptr<MessageChannel>&, std::string payload) override;
  void on_closed(const std::shared_ptr<MessageChannel>&, const Status& why) override;

  LastWords(const Options&, const CrashReport&, Mailbox&, Random&, std::function<void()> done);

 private:
  void on_connected(Result<std::shared_ptr<Connection>>);
  void end();

  Mailbox& mailbox_;
  std::string words_;
  Greeting greeting_;
  std::shared_ptr<MessageChannel> channel_;
  std::shared_ptr<LastWords> self_;
  std::function<void()> done_;  // Empty: it has ended.
};

}  // namespace freshet
