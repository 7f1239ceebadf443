#include "runtime/task/spilled_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/base/log.h"

namespace freshet {

SpilledFile::SpilledFile(SpillPlace place, const std::string& name,
                         const std::atomic<bool>& cancelled)
    : place_(std::move(place)), path_(place_.directory + "/" + name), cancelled_(cancelled) {}

SpilledFile::~SpilledFile() {
  MutexLock io(io_mutex_);
  if (!is_there_) return;
  writer_ = nullptr;
  const Status status = place_.files->remove(path_);
  if (!status.ok() && status.code() != StatusCode::kNotFound)
    LOG_WARN("spill_file_not_removed", {{"path", path_}, {"cause", status}});
}

bool SpilledFile::is_over(Wait what) {
  if (!status_.ok()) return true;
  if (what == Wait::kForRoom) return unwritten_bytes_ <= kUnwrittenBytesMax;
  return !read_ahead_.empty() || (read_bytes_ == written_bytes_ && unwritten_bytes_ == 0);
}

bool SpilledFile::look(Wait what) {
  MutexLock lock(mutex_);
  return is_over(what);
}

/// False when nobody can wait.
bool SpilledFile::wait(Wait what) {
  return place_.wait_for_disk(&cancelled_, [this, what](Duration longest) {
    MutexLock lock(mutex_);
    if (!is_over(what)) changed_.wait_for(mutex_, longest);
    return is_over(what);
  });
}

Status SpilledFile::push(std::string bytes) {
  if (cancelled_.load(std::memory_order_acquire)) return aborted("the task is cancelled");
  {
    MutexLock lock(mutex_);
    if (!status_.ok()) return status_;
    unwritten_bytes_ += bytes.size();
    unwritten_.push_back(std::move(bytes));
    post_run();
  }
  if (!look(Wait::kForRoom) && !wait(Wait::kForRoom)) {
    while (write_one()) {
    }
  }
  MutexLock lock(mutex_);
  if (!is_over(Wait::kForRoom)) return aborted("the task is cancelled");
  return status_;
}

void SpilledFile::end() {
  MutexLock lock(mutex_);
  ended_ = true;
  post_run();
}

Result<std::string> SpilledFile::pop() {
  {
    MutexLock lock(mutex_);
    reads_ = true;
    post_run();
  }
  if (!look(Wait::kForBytes) && !wait(Wait::kForBytes)) {
    while (write_one()) {
    }
    (void)end_writing();
    (void)read_one();
  }
  MutexLock lock(mutex_);
  if (!is_over(Wait::kForBytes)) return aborted("the task is cancelled");
  if (!status_.ok()) return status_;
  std::string next = std::exchange(read_ahead_, {});
  post_run();
  return next;
}

void SpilledFile::close(std::shared_ptr<SpilledFile> file) {
  {
    MutexLock lock(file->mutex_);
    file->closed_ = true;
    file->unwritten_.clear();
    file->read_ahead_.clear();
  }
  Executor& executor = *file->place_.executor;
  executor.post("spilled_file_closed", [file = std::move(file)] {});
}

void SpilledFile::post_run() {
  const bool reads = reads_ && read_ahead_.empty() && read_bytes_ < written_bytes_;
  const bool ends = ended_ && still_open_;
  if (posted_ || closed_ || !status_.ok() || (unwritten_.empty() && !reads && !ends)) return;
  posted_ = true;
  place_.executor->post("spilled_file", [self = shared_from_this()] { self->run(); });
}

void SpilledFile::run() {
  // One of them, and then whatever else the executor has to do.
  if (!write_one() && !end_writing()) (void)read_one();
  MutexLock lock(mutex_);
  posted_ = false;
  post_run();
}

bool SpilledFile::write_one() {
  MutexLock io(io_mutex_);
  std::string bytes;
  {
    MutexLock lock(mutex_);
    if (!status_.ok() || unwritten_.empty()) return false;
    bytes = std::move(unwritten_.front());
    unwritten_.pop_front();
  }
  Status status = write(bytes);
  if (!status.ok()) status = with_free_space(status);
  MutexLock lock(mutex_);
  status_ = std::move(status);
  unwritten_bytes_ -= bytes.size();
  written_bytes_ += bytes.size();
  changed_.notify_one();
  return status_.ok();
}

Status SpilledFile::write(const std::string& bytes) {
  if (!writer_) {
    RETURN_IF_ERROR(place_.files->create_directories(place_.directory));
    ASSIGN_OR_RETURN(writer_, place_.files->create(path_));
    is_there_ = true;
  }
  return writer_->append(bytes);
}

bool SpilledFile::end_writing() {
  MutexLock io(io_mutex_);
  {
    MutexLock lock(mutex_);
    if (!status_.ok() || !unwritten_.empty() || !ended_ || !still_open_) return false;
    still_open_ = false;
  }
  Status status = writer_ ? std::exchange(writer_, nullptr)->close() : Status();
  MutexLock lock(mutex_);
  status_ = std::move(status);
  if (!status_.ok()) changed_.notify_one();
  return true;
}

Status SpilledFile::with_free_space(const Status& status) const {
  if (status.code() != StatusCode::kResourceExhausted) return status;
  const Result<uint64_t> free = place_.files->free_bytes(place_.directory);
  return {status.code(),
          fmt::format("{} (what an operator has no memory for was to be kept there; {} bytes are "
                      "free in {})",
                      status.message(), free.ok() ? std::to_string(*free) : "unknown",
                      place_.directory)};
}

bool SpilledFile::read_one() {
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
  MutexLock lock(mutex_);
  if (!read.ok()) {
    status_ = read.status();
  } else if (!closed_) {
    read_ahead_ = std::move(read).value();
    read_bytes_ += bytes;
  }
  changed_.notify_one();
  return true;
}

Result<std::string> SpilledFile::read(uint64_t offset, uint64_t bytes) {
  if (!reader_) {
    ASSIGN_OR_RETURN(reader_, place_.files->open(path_));
  }
  std::string read(bytes, '\0');
  ASSIGN_OR_RETURN(const size_t size, reader_->read(offset, read.data(), bytes));
  if (size == bytes) return read;
  return data_loss(fmt::format("{}: {} of {} bytes are missing at offset {}", path_, bytes - size,
                               bytes, offset));
}

class TaskSpillSpace::File final : public SpilledBytes {
 public:
  explicit File(std::shared_ptr<SpilledFile> file) : file_(std::move(file)) {}
  ~File() override { SpilledFile::close(std::move(file_)); }
  std::string name() const override { return file_->path(); }
  Status append(std::string bytes) override { return file_->push(std::move(bytes)); }
  void end() override { file_->end(); }
  Result<std::string> next() override { return file_->pop(); }

 private:
  std::shared_ptr<SpilledFile> file_;
};

std::unique_ptr<SpilledBytes> TaskSpillSpace::make() {
  if (made_ == 0) {
    LOG_INFO("operator_spills", {{"directory", options_.place.directory},
                                 {"name", options_.name},
                                 {"memory_bytes", options_.memory_bytes}});
  }
  const std::string name = fmt::format("{}-{}.run", options_.name, made_++);
  return std::make_unique<File>(std::make_shared<SpilledFile>(options_.place, name, cancelled_));
}

}  // namespace freshet
