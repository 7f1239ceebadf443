#include "shuffle/file_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/base/log.h"

namespace freshet {

FileQueue::FileQueue(Options options)
    : options_(std::move(options)), path_(options_.place.directory + "/" + options_.name) {}

FileQueue::~FileQueue() {
  MutexLock io(io_mutex_);
  if (!is_there_) return;
  const Status removed = options_.place.files->remove(path_);
  if (!removed.ok() && removed.code() != StatusCode::kNotFound)
    LOG_WARN("spill_file_not_removed", {{"path", path_}, {"cause", removed}});
  MutexLock lock(mutex_);
  if (status_.ok() && options_.place.on_removed) options_.place.on_removed();
}

Status FileQueue::push(std::string bytes, const std::atomic<bool>* cancelled) {
  bool post = false;
  bool too_much = false;
  {
    MutexLock lock(mutex_);
    if (!status_.ok()) return status_;
    unwritten_bytes_ += bytes.size();
    unwritten_.push_back(std::move(bytes));
    too_much = unwritten_bytes_ > kUnwrittenBytesMax;
    post = must_post();
  }
  if (post) post_run();
  if (!too_much) return Status();
  const TimePoint begin = options_.place.executor->now();
  if (wait_for_room(cancelled)) {
    waited_ += options_.place.executor->now() - begin;
  } else {
    while (write_one()) {
    }
  }
  MutexLock lock(mutex_);
  return status_;
}

bool FileQueue::has_room() { return unwritten_bytes_ <= kUnwrittenBytesMax / 2 || !status_.ok(); }

bool FileQueue::wait_for_room(const std::atomic<bool>* cancelled) {
  return options_.place.wait_for_disk(cancelled, [this](Duration longest) {
    MutexLock lock(mutex_);
    if (!has_room()) changed_.wait_for(mutex_, longest);
    return has_room();
  });
}

void FileQueue::end() {
  bool post = false;
  {
    MutexLock lock(mutex_);
    ended_ = true;
    post = must_post();
  }
  if (post) post_run();
}

void FileQueue::wait_for_next(const std::atomic<bool>& cancelled) {
  const bool waited = options_.place.wait_for_disk(&cancelled, [this](Duration longest) {
    MutexLock lock(mutex_);
    if (!need_not_wait()) changed_.wait_for(mutex_, longest);
    return need_not_wait();
  });
  if (waited) return;
  while (write_one()) {
  }
  (void)read_one();
}

Result<std::string> FileQueue::pop() {
  std::string next;
  bool post = false;
  {
    MutexLock lock(mutex_);
    if (!status_.ok()) return status_;
    reads_ = true;
    waits_ = !has_next();
    if (!read_ahead_.empty()) {
      next = std::exchange(read_ahead_, {});
    } else if (!waits_) {
      next = std::move(unwritten_.front());
      unwritten_.pop_front();
      unwritten_bytes_ -= next.size();
    }
    post = must_post();
  }
  if (post) post_run();
  return next;
}

bool FileQueue::has_next() const {
  return !read_ahead_.empty() ||
         (read_bytes_ == written_bytes_ && !writing_ && !unwritten_.empty());
}

void FileQueue::close(std::shared_ptr<FileQueue> queue) {
  {
    MutexLock lock(queue->mutex_);
    queue->closed_ = true;
    queue->unwritten_.clear();
    queue->read_ahead_.clear();
    if (!queue->posted_ && !queue->writing_ && queue->written_bytes_ == 0 && queue->status_.ok())
      return;  // There is no file.
  }
  Executor& executor = *queue->options_.place.executor;
  executor.post("spill_file_closed", [queue = std::move(queue)] {});
}

bool FileQueue::must_post() {
  const bool reads = reads_ && read_ahead_.empty() && read_bytes_ < written_bytes_;
  const bool closes = ended_ && !writes_ended_ && written_bytes_ != 0;
  if (posted_ || closed_ || !status_.ok() || (!reads && !closes && unwritten_.empty()))
    return false;
  posted_ = true;
  return true;
}

void FileQueue::post_run() {
  options_.place.executor->post("spill", [self = shared_from_this()] { self->run(); });
}

void FileQueue::run() {
  // One of them, and then whatever else the executor has to do.
  if (!read_one() && !write_one()) close_written();
  bool post = false;
  bool wake = false;
  {
    MutexLock lock(mutex_);
    posted_ = false;
    post = must_post();
    wake = !closed_ && waits_ && (has_next() || !status_.ok());
    if (wake) waits_ = false;
  }
  if (post) post_run();
  if (wake && options_.wake) options_.wake();
}

void FileQueue::fail(Status status) {
  status_ = std::move(status);
  waits_ = true;  // Whether it asked or not, it wants to know.
}

bool FileQueue::write_one() {
  MutexLock io(io_mutex_);
  std::string bytes;
  {
    MutexLock lock(mutex_);
    if (!status_.ok() || unwritten_.empty()) return false;
    bytes = std::move(unwritten_.front());
    unwritten_.pop_front();
    writing_ = true;
  }
  Status status = write(bytes);
  note_error(status);
  MutexLock lock(mutex_);
  changed_.notify_one();
  writing_ = false;
  if (status.ok()) {
    unwritten_bytes_ -= bytes.size();
    written_bytes_ += bytes.size();
  } else {
    const uint64_t kept = written_bytes_ - read_bytes_;
    fail({status.code(),
          fmt::format("{} ({} bytes of {} were to be kept there, {} of them are)", status.message(),
                      kept + unwritten_bytes_, options_.what, kept)});
  }
  return status.ok();
}

void FileQueue::note_error(const Status& status) const {
  if (!status.ok() && options_.place.on_error) options_.place.on_error(status);
}

Status FileQueue::write(const std::string& bytes) {
  if (!writer_) {
    RETURN_IF_ERROR(options_.place.make_directory());
    ASSIGN_OR_RETURN(writer_, options_.place.files->create(path_));
    is_there_ = true;
  }
  return writer_->append(bytes);
}

void FileQueue::close_written() {
  MutexLock io(io_mutex_);
  {
    MutexLock lock(mutex_);
    if (!status_.ok() || !ended_ || writes_ended_ || !unwritten_.empty()) return;
    writes_ended_ = true;
  }
  const Status status = writer_ ? std::exchange(writer_, nullptr)->close() : Status();
  if (status.ok()) return;
  note_error(status);
  MutexLock lock(mutex_);
  fail(status);
  changed_.notify_one();
}

bool FileQueue::read_one() {
  MutexLock io(io_mutex_);
  uint64_t offset = 0;
  uint64_t bytes = 0;
  {
    MutexLock lock(mutex_);
    offset = read_bytes_;
    bytes = std::min(kReadBytes, written_bytes_ - read_bytes_);
    if (!status_.ok() || closed_ || !reads_ || !read_ahead_.empty() || bytes == 0) return false;
  }
  Result<std::string> read = this->read(offset, bytes);
  note_error(read.status());
  MutexLock lock(mutex_);
  if (!read.ok()) {
    fail(read.status());
  } else if (!closed_) {
    read_ahead_ = std::move(read).value();
    read_bytes_ += bytes;
  }
  changed_.notify_one();
  return true;
}

Result<std::string> FileQueue::read(uint64_t offset, uint64_t bytes) {
  if (!reader_) {
    ASSIGN_OR_RETURN(reader_, options_.place.files->open(path_));
  }
  std::string read(bytes, '\0');
  ASSIGN_OR_RETURN(const size_t size, reader_->read(offset, read.data(), bytes));
  if (size != bytes) {
    return data_loss(fmt::format("{}: {} of {} bytes are missing at offset {}", path_, bytes - size,
                                 bytes, offset));
  }
  return read;
}

}  // namespace freshet
