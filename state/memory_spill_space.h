#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "state/spill_space.h"

namespace freshet {

/// Keeps what is spilled in memory: for tests, and for tasks that are executed again.
class MemorySpillSpace final : public SpillSpace {
 public:
  explicit MemorySpillSpace(uint64_t memory_bytes, bool compresses = false)
      : memory_bytes_(memory_bytes), compresses_(compresses) {}

  uint64_t memory_bytes() const override { return memory_bytes_; }
  bool compresses() const override { return compresses_; }
  std::unique_ptr<SpilledBytes> make() override {
    ++files_;
    return std::make_unique<File>();
  }

  /// How many were made.
  uint64_t files() const { return files_; }

 private:
  class File final : public SpilledBytes {
   public:
    std::string name() const override { return "memory"; }
    Status append(std::string bytes) override {
      if (!bytes.empty()) pieces_.push_back(std::move(bytes));
      return Status();
    }
    void end() override {}
    Result<std::string> next() override {
      if (pieces_.empty()) return std::string();
      std::string piece = std::move(pieces_.front());
      pieces_.pop_front();
      return piece;
    }

   private:
    std::deque<std::string> pieces_;
  };

  const uint64_t memory_bytes_;
  const bool compresses_;
  uint64_t files_ = 0;
};

}  // namespace freshet
