#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "shuffle/file_queue.h"
#include "shuffle/temp_directories.h"
#include "state/spill_space.h"

namespace freshet {

/// A file that is written from its beginning and then read from its beginning; a FileQueue whose
/// one thread waits for the disk where that has not read yet what is wanted. The file is there from
/// the first write until this goes, and is then removed by the executor.
class SpilledFile final : public SpilledBytes {
 public:
  /// Waits no longer once `*cancelled`, which outlives it.
  SpilledFile(SpillPlace place, std::string name, const std::atomic<bool>& cancelled);
  ~SpilledFile() override { FileQueue::close(std::move(queue_)); }
  SpilledFile(const SpilledFile&) = delete;
  SpilledFile& operator=(const SpilledFile&) = delete;

  std::string name() const override { return queue_->path(); }
  Status append(std::string bytes) override;
  void end() override { queue_->end(); }
  Result<std::string> next() override;

 private:
  std::shared_ptr<FileQueue> queue_;
  const std::atomic<bool>& cancelled_;
  uint64_t left_bytes_ = 0;  // Inside.
};

/// The spill space of one operator of one attempt. Its files go to the directories in turn.
class TaskSpillSpace final : public SpillSpace {
 public:
  struct Options {
    std::shared_ptr<TempDirectories> directories;
    std::string name;  // Of its files, with a number behind it.
    uint64_t memory_bytes = kLeastMemoryBytes;
    bool compresses = false;
  };

  /// `cancelled` outlives it and what it made.
  TaskSpillSpace(Options options, const std::atomic<bool>& cancelled)
      : options_(std::move(options)), cancelled_(cancelled) {}

  uint64_t memory_bytes() const override { return options_.memory_bytes; }
  bool compresses() const override { return options_.compresses; }
  std::unique_ptr<SpilledBytes> make() override;

 private:
  const Options options_;
  const std::atomic<bool>& cancelled_;
  uint64_t made_ = 0;
};

}  // namespace freshet
