#include "jobmanager/task_manager_outbox.h"

#include <utility>

namespace freshet {

void TaskManagerOutbox::send(std::string message) {
  if (waiting_.empty()) return send_(std::move(message));
  waiting_.push_back(std::make_shared<Message>(std::move(message)));
}

void TaskManagerOutbox::make_and_send(UniqueFunction<std::string()> make) {
  const auto message = waiting_.emplace_back(std::make_shared<Message>());
  elsewhere_.post("encode_message", [&main = main_.executor(), message, make = std::move(make),
                                     weak = weak_from_this()]() mutable {
    main.post("message_encoded", [message, bytes = make(), weak]() mutable {
      *message = std::move(bytes);
      if (const auto self = weak.lock()) self->flush();
    });
  });
}

void TaskManagerOutbox::flush() {
  while (!waiting_.empty() && waiting_.front()->has_value()) {
    send_(*std::move(*waiting_.front()));
    waiting_.pop_front();
  }
}

}  // namespace freshet
