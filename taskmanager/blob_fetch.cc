#include "taskmanager/blob_fetch.h"

#include "runtime/base/hash.h"
#include "runtime/proto/control.pb.h"
#include "taskmanager/deployment_message.h"

namespace freshet {

BlobFetch::BlobFetch(const Options& options, Mailbox& mailbox, std::string hash, Done done)
    : options_(options),
      mailbox_(mailbox),
      hash_(std::move(hash)),
      done_(std::move(done)),
      greeting_(
          {HelloRole::kBlobClient, options.job_manager, options.library_version, options.secret},
          *options.random) {}

std::shared_ptr<BlobFetch> BlobFetch::start(const Options& options, Transport& transport,
                                            Mailbox& mailbox, std::string hash, Done done) {
  auto fetch = std::make_shared<BlobFetch>(options, mailbox, std::move(hash), std::move(done));
  fetch->self_ = fetch;
  Executor& executor = mailbox.executor();
  std::weak_ptr<BlobFetch> weak = fetch;
  transport.connect(options.job_manager, options.timeout,
                    [&executor, weak](Result<std::shared_ptr<Connection>> connection) {
                      executor.post("blob_connected",
                                    [weak, connection = std::move(connection)]() mutable {
                                      if (const auto self = weak.lock()) {
                                        self->on_connected(std::move(connection));
                                      } else if (connection.ok()) {
                                        connection.value()->close();
                                      }
                                    });
                    });
  return fetch;
}

void BlobFetch::cancel() {
  done_ = nullptr;
  mailbox_.cancel(timer_);
  if (channel_) channel_->detach();
  channel_.reset();
  self_.reset();
}

void BlobFetch::on_connected(Result<std::shared_ptr<Connection>> connection) {
  if (!connection.ok()) return end(connection.status());
  channel_ = MessageChannel::open(std::move(connection).value(), mailbox_, *this);
  channel_->send(greeting_.hello());
  restart_timer();
}

void BlobFetch::on_greeting(const proto::Envelope& envelope) {
  const Result<std::string> answer = greeting_.on_message(envelope);
  if (!answer.ok()) return end(answer.status());
  if (!greeting_.done()) return channel_->send(*answer);
  proto::Envelope request;
  request.mutable_get_blob()->set_hash(hash_);
  channel_->send(request.SerializeAsString());
  restart_timer();
}

void BlobFetch::restart_timer() {
  mailbox_.cancel(timer_);
  timer_ = mailbox_.schedule(options_.timeout, "blob_timeout", [weak = weak_from_this()] {
    if (const auto self = weak.lock())
      self->end(deadline_exceeded("the JobManager stopped sending the " + self->options_.what));
  });
}

void BlobFetch::on_message(const std::shared_ptr<MessageChannel>&, std::string payload) {
  proto::Envelope envelope;
  if (!envelope.ParseFromString(payload))
    return end(data_loss("the JobManager sent what is no message"));
  if (!greeting_.done()) return on_greeting(envelope);
  if (envelope.has_error_reply()) {
    const Status status = from_proto(envelope.error_reply().status());
    return end(status.ok() ? data_loss("the JobManager reported an error without saying which")
                           : status);
  }
  if (!envelope.has_blob_chunk())
    return end(data_loss("the JobManager sent something else than a blob"));
  const proto::BlobChunk& chunk = envelope.blob_chunk();
  if (const Status status = from_proto(chunk.status()); !status.ok()) return end(status);
  if (bytes_.size() + chunk.data().size() > options_.size_max_bytes) {
    return end(resource_exhausted("the " + options_.what + " is larger than " +
                                  std::to_string(options_.size_max_bytes) + " bytes"));
  }
  bytes_.append(chunk.data());
  if (!chunk.last()) return restart_timer();
  if (content_hash(bytes_) != hash_)
    return end(data_loss("the bytes of the " + options_.what + " do not have its hash"));
  end(std::move(bytes_));
}

void BlobFetch::on_closed(const std::shared_ptr<MessageChannel>&, const Status& why) {
  channel_.reset();
  end(unavailable("the JobManager closed the connection: " + why.to_string()));
}

void BlobFetch::end(Result<std::string> result) {
  if (!done_) return;
  const auto self = shared_from_this();
  Done done = std::move(done_);
  cancel();
  if (!result.ok()) {
    done(result.status().with_context(options_.what + " " + hash_ + " cannot be fetched from " +
                                      options_.job_manager.to_string()));
    return;
  }
  done(std::move(result));
}

}  // namespace freshet
