#include "shuffle/write_behind.h"

#include <fmt/format.h>

#include <cstring>
#include <exception>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/log.h"

namespace freshet {

void WriteBehind::Piece::append(std::string_view more) {
  std::memcpy(bytes.get() + size, more.data(), more.size());
  size += more.size();
}

WriteBehind::WriteBehind(Options options)
    : options_(std::move(options)),
      path_(options_.place.directory + "/" + options_.name),
      part_(path_ + ".part") {}

WriteBehind::~WriteBehind() {
  MutexLock io(io_mutex_);
  if (!is_there_) return;
  file_ = nullptr;
  const Status status = options_.place.files->remove(part_);
  if (!status.ok() && status.code() != StatusCode::kNotFound)
    LOG_WARN("partition_file_not_removed", {{"path", part_}, {"cause", status}});
}

WriteBehind::Piece WriteBehind::spare() {
  {
    MutexLock lock(mutex_);
    if (!spare_.empty()) {
      Piece piece = std::move(spare_.back());
      spare_.pop_back();
      return piece;
    }
  }
  return {std::unique_ptr<char[]>(new char[kPieceBytes]), 0};
}

Status WriteBehind::append(Piece piece, const std::atomic<bool>* cancelled) {
  bool too_much = false;
  {
    MutexLock lock(mutex_);
    CHECK(!publishes_);
    if (outcome_) return *outcome_;
    pieces_.push_back(std::move(piece));
    post_run();
    too_much = is_far_behind();
  }
  if (too_much) {
    const TimePoint begin = options_.place.executor->now();
    if (wait_for_room(cancelled)) {
      waited_ += options_.place.executor->now() - begin;
    } else {
      while (write_one()) {
      }
    }
  }
  MutexLock lock(mutex_);
  return outcome_.value_or(Status());
}

bool WriteBehind::wait_for_room(const std::atomic<bool>* cancelled) {
  return options_.place.wait_for_disk(cancelled, [this](Duration longest) {
    MutexLock lock(mutex_);
    if (is_far_behind()) room_.wait_for(mutex_, longest);
    return !is_far_behind();
  });
}

bool WriteBehind::has_room() const {
  MutexLock lock(mutex_);
  waits_ = pieces_.size() + writing_ >= kPiecesMax;
  return !waits_;
}

void WriteBehind::publish() {
  MutexLock lock(mutex_);
  CHECK(!publishes_);
  publishes_ = true;
  post_run();
}

std::optional<Status> WriteBehind::outcome() const {
  MutexLock lock(mutex_);
  return outcome_;
}

void WriteBehind::abandon(std::shared_ptr<WriteBehind> file) {
  Executor& executor = *file->options_.place.executor;
  {
    MutexLock lock(file->mutex_);
    file->abandoned_ = true;
    file->pieces_.clear();
  }
  executor.post("partition_file_abandoned", [file = std::move(file)] {});
}

void WriteBehind::post_run() {
  if (posted_ || outcome_ || abandoned_ || (pieces_.empty() && !publishes_)) return;
  posted_ = true;
  options_.place.executor->post("write_behind", [self = shared_from_this()] { self->run(); });
}

void WriteBehind::run() {
  // One of them, and then whatever else the executor has to do.
  if (!write_one()) finish();
  bool wake = false;
  {
    MutexLock lock(mutex_);
    posted_ = false;
    post_run();
    wake = !abandoned_ && (outcome_ || (waits_ && pieces_.size() < kPiecesMax / 2));
    if (wake) waits_ = false;
  }
  if (wake && options_.wake) options_.wake();
}

bool WriteBehind::write_one() {
  MutexLock io(io_mutex_);
  Piece piece;
  {
    MutexLock lock(mutex_);
    if (outcome_ || pieces_.empty()) return false;
    piece = std::move(pieces_.front());
    pieces_.pop_front();
    writing_ = 1;
  }
  const Status status = write(piece);
  if (!status.ok()) fail(status);
  MutexLock lock(mutex_);
  writing_ = 0;
  written_bytes_ += piece.size;
  piece.size = 0;
  spare_.push_back(std::move(piece));
  room_.notify_one();
  return true;
}

Status WriteBehind::write(const Piece& piece) {
  FileSystem& files = *options_.place.files;
  if (!file_) {
    RETURN_IF_ERROR(options_.place.make_directory());
    ASSIGN_OR_RETURN(file_, files.create(part_));
    is_there_ = true;
  }
  return file_->append({piece.bytes.get(), piece.size});
}

void WriteBehind::finish() {
  MutexLock io(io_mutex_);
  {
    MutexLock lock(mutex_);
    if (!publishes_ || abandoned_ || outcome_ || !pieces_.empty()) return;
  }
  const Status status = close_and_rename();
  if (!status.ok()) return fail(status);
  is_there_ = false;
  pass_mark(options_.place.faults, "spill.after_publish");
  MutexLock lock(mutex_);
  outcome_ = Status();
  spare_.clear();
}

Status WriteBehind::close_and_rename() {
  if (!file_) return internal_error(path_ + ": nothing was written to it");
  RETURN_IF_ERROR(file_->close());
  file_ = nullptr;
  RETURN_IF_ERROR(pass("spill.before_publish"));
  return options_.place.files->rename_unsynced(part_, path_);
}

Status WriteBehind::pass(std::string_view mark) const {
  try {
    pass_mark(options_.place.faults, mark);
  } catch (const std::exception& error) {
    return internal_error(path_ + ": " + error.what());
  }
  return Status();
}

void WriteBehind::fail(const Status& status) {
  std::string message = status.message();
  if (status.code() == StatusCode::kResourceExhausted) {
    MutexLock lock(mutex_);
    message += fmt::format(" ({} bytes of a result partition were written)", written_bytes_);
  }
  file_ = nullptr;
  if (std::exchange(is_there_, false)) (void)options_.place.files->remove(part_);
  if (options_.place.on_error) options_.place.on_error(status);
  MutexLock lock(mutex_);
  outcome_ = Status(status.code(), std::move(message));
  pieces_.clear();
}

}  // namespace freshet
