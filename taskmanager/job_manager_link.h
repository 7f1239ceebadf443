#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "network/message_channel.h"
#include "network/transport.h"
#include "runtime/base/mailbox.h"
#include "runtime/base/random.h"
#include "taskmanager/hello.h"

namespace freshet {

namespace proto {
class Envelope;
}

/// The control connection of a TaskManager: connects, greets, registers, sends heartbeats and
/// watches for their answers; after a loss it waits to be told, then tries again, each time later,
/// for ever.
///
/// Belongs to the mailbox' thread; all calls of the handler come there, none inside a call of it
/// but of start(), register_now() and stop().
class JobManagerLink final : public MessageChannel::Handler,
                             public std::enable_shared_from_this<JobManagerLink> {
 public:
  class Handler {
   public:
    virtual ~Handler() = default;
    /// The JobManager answered the greeting; `epoch` differs for each one that was started. It
    /// hears no more before register_now(), which may be called at once.
    virtual void on_greeted(uint64_t epoch) = 0;
    /// `local`: of this end of the connection, which is how peers reach this machine.
    virtual void fill_registration(proto::Envelope*, const Address& local) = 0;
    virtual void fill_heartbeat(proto::Envelope*) = 0;
    virtual void on_registered() = 0;
    /// An error closes the connection.
    virtual Status on_message(const proto::Envelope&) = 0;
    /// After on_registered(): nothing can be sent any more. try_again() when what belonged to the
    /// old connection is gone.
    virtual void on_lost(const Status& why) = 0;
  };
  struct Options {
    Address job_manager;
    std::string secret;
    std::string library_version;
    Duration connect_timeout = 5s;
    Duration backoff_first = 100ms;
    Duration backoff_max = 5s;
    Duration version_delay = 30s;  // After one of another version: people must replace one of them.
  };

  JobManagerLink(Options, Transport&, Mailbox&, Random&, Handler&);

  void start() { connect(); }
  void try_again();

  /// The answer to on_greeted(). Ignored when the connection was lost meanwhile: on_greeted() comes
  /// again.
  void register_now();

  /// Unregisters and ends it for good: `done` runs when what was sent before has left. The handler
  /// is not called any more.
  void stop(std::function<void()> done);

  /// The same with another last word: for ever, because this process ends.
  void end_with(const proto::Envelope& last, std::function<void()> done);

  /// At once. Before the handler or the mailbox goes, if stop() was not done.
  void abandon();

  /// Dropped when the link is not registered.
  void send(const proto::Envelope&);
  bool registered() const { return state_ == State::kRegistered; }

  void on_message(const std::shared_ptr<MessageChannel>&, std::string payload) override;
  void on_closed(const std::shared_ptr<MessageChannel>&, const Status& why) override;

 private:
  enum class State {
    kDisconnected,
    kConnecting,
    kGreeting,
    kGreeted,
    kRegistering,
    kRegistered,
    kStopped
  };

  void connect();
  void on_connected(Result<std::shared_ptr<Connection>>);
  void set_timer(Duration, std::string_view name, void (JobManagerLink::*then)());
  void give_up_waiting();
  void beat();
  Status handle(const proto::Envelope&);
  Status handle_greeting(const proto::Envelope&);
  Status handle_registration(const proto::Envelope&);
  void lose(const Status& why);

  const Options options_;
  Transport& transport_;
  Mailbox& main_;
  Random& random_;
  Handler& handler_;
  State state_ = State::kDisconnected;
  std::shared_ptr<MessageChannel> channel_;
  std::optional<Greeting> greeting_;  // Of the channel.
  TimerId timer_;  // At most one: of the next try, of an answer, or of the next heartbeat.
  Duration backoff_{};
  Duration wait_at_least_{};  // Before the next try.
  Duration heartbeat_interval_{};
  Duration heartbeat_timeout_{};
  TimePoint last_heard_{};
  uint64_t sequence_ = 0;
  uint64_t registrations_ = 0;  // Sent.
  std::function<void()> stopped_;
};

}  // namespace freshet
