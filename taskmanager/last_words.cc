#include "taskmanager/last_words.h"

#include <utility>

#include "runtime/proto/control.pb.h"
#include "taskmanager/crash_message.h"

namespace freshet {

LastWords::LastWords(const Options& options, const CrashReport& crash, Mailbox& mailbox,
                     Random& random, std::function<void()> done)
    : mailbox_(mailbox),
      greeting_(
          {HelloRole::kTaskManager, options.job_manager, options.library_version, options.secret},
          random),
      done_(std::move(done)) {
  proto::Envelope envelope;
  to_proto(crash, envelope.mutable_task_manager_crashes());
  envelope.mutable_task_manager_crashes()->set_task_manager(options.task_manager.value);
  words_ = envelope.SerializeAsString();
}

void LastWords::say(const Options& options, const CrashReport& crash, Transport& transport,
                    Mailbox& mailbox, Random& random, std::function<void()> done) {
  const auto words = std::make_shared<LastWords>(options, crash, mailbox, random, std::move(done));
  words->self_ = words;
  Executor& executor = mailbox.executor();
  transport.connect(options.job_manager, options.timeout,
                    [&executor, words](Result<std::shared_ptr<Connection>> connection) {
                      executor.post("last_words_connected",
                                    [words, connection = std::move(connection)]() mutable {
                                      words->on_connected(std::move(connection));
                                    });
                    });
}

void LastWords::on_connected(Result<std::shared_ptr<Connection>> connection) {
  if (!connection.ok()) return end();
  channel_ = MessageChannel::open(std::move(connection).value(), mailbox_, *this);
  channel_->send(greeting_.hello());
}

void LastWords::on_message(const std::shared_ptr<MessageChannel>&, std::string payload) {
  proto::Envelope envelope;
  if (!envelope.ParseFromString(payload)) return end();
  if (greeting_.done()) return;
  const Result<std::string> answer = greeting_.on_message(envelope);
  if (!answer.ok()) return end();
  channel_->send(greeting_.done() ? words_ : *answer);
}

/// The JobManager closes it when it has heard.
void LastWords::on_closed(const std::shared_ptr<MessageChannel>&, const Status&) {
  channel_.reset();
  end();
}

void LastWords::end() {
  if (channel_) channel_->detach();
  channel_.reset();
  if (done_) std::exchange(done_, nullptr)();
  self_.reset();
}

}  // namespace freshet
