#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/base/mailbox.h"
#include "runtime/base/unique_function.h"

namespace freshet {

/// What is sent to one TaskManager, in the order in which it was given, also where a message is
/// made on another thread meanwhile: nothing may overtake the deployment that it is about.
///
/// Belongs to the mailbox' thread. What is still being made when it goes is never sent.
class TaskManagerOutbox final : public std::enable_shared_from_this<TaskManagerOutbox> {
 public:
  TaskManagerOutbox(Mailbox& main, Executor& elsewhere, std::function<void(std::string)> send)
      : main_(main), elsewhere_(elsewhere), send_(std::move(send)) {}

  void send(std::string message);
  /// `make` runs elsewhere and must own what it needs.
  void make_and_send(UniqueFunction<std::string()> make);

 private:
  using Message = std::optional<std::string>;  // Empty while it is being made.

  void flush();

  Mailbox& main_;
  Executor& elsewhere_;
  const std::function<void(std::string)> send_;
  std::deque<std::shared_ptr<Message>> waiting_;  // Empty but behind one that is being made.
};

}  // namespace freshet
