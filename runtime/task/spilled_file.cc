#include "runtime/task/spilled_file.h"

#include <fmt/format.h>

#include <utility>

#include "runtime/base/log.h"

namespace freshet {

SpilledFile::SpilledFile(SpillPlace place, std::string name, const std::atomic<bool>& cancelled)
    : queue_(std::make_shared<FileQueue>(FileQueue::Options{
          std::move(place), std::move(name), {}, "what an operator has no memory for"})),
      cancelled_(cancelled) {}

Status SpilledFile::append(std::string bytes) {
  left_bytes_ += bytes.size();
  RETURN_IF_ERROR(queue_->push(std::move(bytes), &cancelled_));
  return cancelled_.load(std::memory_order_acquire) ? aborted("the task is cancelled") : Status();
}

Result<std::string> SpilledFile::next() {
  while (left_bytes_ != 0) {
    if (cancelled_.load(std::memory_order_acquire)) return aborted("the task is cancelled");
    ASSIGN_OR_RETURN(std::string next, queue_->pop());
    if (!next.empty()) {
      left_bytes_ -= next.size();
      return next;
    }
    queue_->wait_for_next(cancelled_);
  }
  return std::string();
}

std::unique_ptr<SpilledBytes> TaskSpillSpace::make() {
  SpillPlace place = options_.directories->next({});
  if (made_ == 0) {
    LOG_INFO("operator_spills", {{"directory", place.directory},
                                 {"name", options_.name},
                                 {"memory_bytes", options_.memory_bytes}});
  }
  return std::make_unique<SpilledFile>(
      std::move(place), fmt::format("{}-{}.run", options_.name, made_++), cancelled_);
}

}  // namespace freshet
