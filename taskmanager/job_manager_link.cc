#include "taskmanager/job_manager_link.h"

#include <algorithm>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/proto/control.pb.h"
#include "taskmanager/deployment_message.h"

namespace freshet {

namespace {
constexpr Duration kShortestHeartbeat = 10ms;
constexpr Duration kLongestHeartbeat = 1h;
constexpr Duration kLinger = 1s;

Duration heartbeat_duration(uint64_t millis) {
  const uint64_t longest = static_cast<uint64_t>(to_millis(kLongestHeartbeat));
  return std::max<Duration>(kShortestHeartbeat,
                            std::chrono::milliseconds(std::min(millis, longest)));
}
}  // namespace

JobManagerLink::JobManagerLink(Options options, Transport& transport, Mailbox& main, Random& random,
                               Handler& handler)
    : options_(std::move(options)),
      transport_(transport),
      main_(main),
      random_(random),
      handler_(handler),
      backoff_(options_.backoff_first) {}

void JobManagerLink::connect() {
  if (state_ == State::kStopped) return;
  state_ = State::kConnecting;
  Executor& executor = main_.executor();
  transport_.connect(
      options_.job_manager, options_.connect_timeout,
      [&executor, weak = weak_from_this()](Result<std::shared_ptr<Connection>> connection) {
        executor.post("job_manager_connected",
                      [weak, connection = std::move(connection)]() mutable {
                        const auto self = weak.lock();
                        if (self != nullptr && self->state_ == State::kConnecting) {
                          self->on_connected(std::move(connection));
                        } else if (connection.ok()) {
                          connection.value()->close();
                        }
                      });
      });
}

void JobManagerLink::on_connected(Result<std::shared_ptr<Connection>> connection) {
  if (!connection.ok()) return lose(connection.status());
  channel_ = MessageChannel::open(std::move(connection).value(), main_, *this);
  state_ = State::kGreeting;
  greeting_.emplace(Greeting::Options{HelloRole::kTaskManager, options_.job_manager,
                                      options_.library_version, options_.secret},
                    random_);
  channel_->send(greeting_->hello());
  set_timer(options_.connect_timeout, "greeting_timeout", &JobManagerLink::give_up_waiting);
}

void JobManagerLink::set_timer(Duration delay, std::string_view name,
                               void (JobManagerLink::*then)()) {
  main_.cancel(timer_);
  timer_ = main_.schedule(delay, name, [weak = weak_from_this(), then] {
    if (const auto self = weak.lock()) ((*self).*then)();
  });
}

void JobManagerLink::give_up_waiting() { lose(deadline_exceeded("the JobManager did not answer")); }

void JobManagerLink::on_message(const std::shared_ptr<MessageChannel>&, std::string payload) {
  proto::Envelope envelope;
  if (state_ == State::kStopped) return;
  const Status status = envelope.ParseFromString(payload)
                            ? handle(envelope)
                            : data_loss("bytes are no control message");
  if (!status.ok()) lose(status.with_context("bad message from the JobManager"));
}

Status JobManagerLink::handle(const proto::Envelope& envelope) {
  last_heard_ = main_.now();
  if (state_ == State::kGreeting) return handle_greeting(envelope);
  if (state_ == State::kGreeted) return data_loss("a message before the registration");
  if (state_ == State::kRegistering) return handle_registration(envelope);
  if (envelope.has_heartbeat_reply()) return Status();
  return handler_.on_message(envelope);
}

Status JobManagerLink::handle_greeting(const proto::Envelope& envelope) {
  const Result<std::string> answer = greeting_->on_message(envelope);
  if (!answer.ok()) {
    if (answer.status().code() == StatusCode::kDataLoss) return answer.status();
    if (greeting_->other_version()) wait_at_least_ = options_.version_delay;
    lose(greeting_->refused()
             ? answer.status().with_context("the JobManager refuses the connection")
             : answer.status());
    return Status();
  }
  if (!greeting_->done()) {
    channel_->send(*answer);
    return Status();
  }
  state_ = State::kGreeted;
  main_.cancel(timer_);
  handler_.on_greeted(greeting_->epoch());
  return Status();
}

Status JobManagerLink::handle_registration(const proto::Envelope& envelope) {
  if (!envelope.has_register_reply()) return data_loss("no answer to the registration");
  const proto::RegisterReply& reply = envelope.register_reply();
  if (Status refused = from_proto(reply.status()); !refused.ok()) {
    lose(refused.with_context("the JobManager refuses the registration"));
    return Status();
  }
  heartbeat_interval_ = heartbeat_duration(reply.heartbeat_interval_ms());
  heartbeat_timeout_ =
      std::max(heartbeat_interval_ * 2, heartbeat_duration(reply.heartbeat_timeout_ms()));
  state_ = State::kRegistered;
  backoff_ = options_.backoff_first;
  sequence_ = 0;
  LOG_INFO("registered", {{"job_manager", options_.job_manager.to_string()}});
  set_timer(heartbeat_interval_, "heartbeat", &JobManagerLink::beat);
  handler_.on_registered();
  return Status();
}

void JobManagerLink::register_now() {
  if (state_ != State::kGreeted) return;
  state_ = State::kRegistering;
  proto::Envelope registration;
  handler_.fill_registration(&registration, channel_->local_address());
  registration.mutable_register_task_manager()->set_number(++registrations_);
  channel_->send(registration.SerializeAsString());
  set_timer(options_.connect_timeout, "registration_timeout", &JobManagerLink::give_up_waiting);
}

void JobManagerLink::beat() {
  if (main_.now() - last_heard_ >= heartbeat_timeout_)
    return lose(deadline_exceeded("no answer to heartbeats"));
  proto::Envelope envelope;
  envelope.mutable_heartbeat()->set_sequence(++sequence_);
  handler_.fill_heartbeat(&envelope);
  channel_->send(envelope.SerializeAsString());
  set_timer(heartbeat_interval_, "heartbeat", &JobManagerLink::beat);
}

void JobManagerLink::send(const proto::Envelope& envelope) {
  if (state_ == State::kRegistered) channel_->send(envelope.SerializeAsString());
}

void JobManagerLink::on_closed(const std::shared_ptr<MessageChannel>&, const Status& why) {
  channel_.reset();
  if (stopped_) return std::exchange(stopped_, nullptr)();
  lose(why.ok() ? unavailable("the JobManager closed the connection") : why);
}

void JobManagerLink::lose(const Status& why) {
  if (state_ == State::kStopped || state_ == State::kDisconnected) return;
  const auto self = shared_from_this();
  const bool was_registered = state_ == State::kRegistered;
  LOG_WARN("job_manager_lost",
           {{"job_manager", options_.job_manager.to_string()}, {"status", why}});
  state_ = State::kDisconnected;
  main_.cancel(timer_);
  if (channel_) channel_->detach();
  channel_.reset();
  if (was_registered) {
    handler_.on_lost(why);
  } else {
    try_again();
  }
}

void JobManagerLink::try_again() {
  if (state_ != State::kDisconnected) return;
  const Duration wait = std::max(backoff_, std::exchange(wait_at_least_, Duration::zero()));
  set_timer(wait, "job_manager_retry", &JobManagerLink::connect);
  backoff_ = std::min(backoff_ * 2, options_.backoff_max);
}

void JobManagerLink::stop(std::function<void()> done) {
  proto::Envelope unregistration;
  unregistration.mutable_unregister_task_manager();
  end_with(unregistration, std::move(done));
}

void JobManagerLink::end_with(const proto::Envelope& last, std::function<void()> done) {
  main_.cancel(timer_);
  send(last);
  state_ = State::kStopped;
  stopped_ = std::move(done);
  if (channel_) {
    channel_->close_after_sending(kLinger);
    return;
  }
  main_.post("link_stopped", [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self && self->stopped_) std::exchange(self->stopped_, nullptr)();
  });
}

void JobManagerLink::abandon() {
  main_.cancel(timer_);
  state_ = State::kStopped;
  stopped_ = nullptr;
  if (channel_) channel_->detach();
  channel_.reset();
}

}  // namespace freshet
