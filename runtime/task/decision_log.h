#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/encoding.h"
#include "runtime/base/status.h"

namespace freshet {

enum class DecisionKind : uint8_t {
  kElement = 1,   // The next element is taken from one channel.
  kPoll = 2,      // The source is polled once, for so many records at most.
  kEndInput = 3,  // A gate has ended.
  kFinish = 4,    // One batch of what operators emit at the end of their data.
  kClock = 5,     // The cached processing time changes.
  kRandom = 6,    // A random number was drawn.
  kExternal = 7,  // The world outside answered.
  // 8: a mail was taken; 9: timers were drained; 10: a snapshot was taken, at a barrier or between
  // two elements. Kept for these, so that a log of today says the same to whoever reads it later.
};

std::string_view to_string(DecisionKind);

/// One choice of a task that another execution might make differently. The fields that a kind does
/// not use are zero.
struct Decision {
  DecisionKind kind = DecisionKind::kElement;
  uint32_t input = 0;      // Index of the gate: kElement, kEndInput.
  uint32_t producer = 0;   // kElement.
  uint64_t value = 0;      // kClock: epoch milliseconds; kRandom; kPoll: records.
  std::string_view bytes;  // kExternal; as long as whoever gave it says.

  bool operator==(const Decision&) const = default;
};

/// Where a task writes each decision before it acts on it.
class DecisionLog {
 public:
  virtual ~DecisionLog() = default;

  /// When it returns, the decision survives whatever the log promises to survive.
  virtual void append(const Decision&) = 0;
};

/// Keeps decisions in memory, in this form (integers little-endian):
///
///   log   := entry*
///   entry := 1 u32 input u32 producer u64 times      kElement, run-length encoded
///            2 u32 records u64 times                 kPoll
///            3 u32 input                             kEndInput
///            4 u64 times                             kFinish
///            5 u64 epoch_millis                      kClock
///            6 u64 number                            kRandom
///            7 varint size, bytes                    kExternal
///
/// The count of the last entry is raised in place, so that the log is never behind what was done.
class MemoryDecisionLog final : public DecisionLog {
 public:
  void append(const Decision&) override;

  /// All decisions so far. A copy is a snapshot.
  const std::string& bytes() const { return bytes_; }
  uint64_t decisions() const { return decisions_; }

 private:
  bool extends_last(const Decision&) const;

  std::string bytes_;
  Decision last_;  // Of the last entry; its kind has a count when count_at_ is not zero.
  size_t count_at_ = 0;
  uint64_t decisions_ = 0;
};

/// Reads what MemoryDecisionLog wrote, one decision at a time. `bytes` must outlive it.
class DecisionLogReader {
 public:
  explicit DecisionLogReader(std::string_view bytes);

  /// The next decision; nullopt at the end or when the bytes are bad, see status().
  const std::optional<Decision>& peek() const { return next_; }
  void pop();

  const Status& status() const { return status_; }

 private:
  void read_entry();

  Decoder decoder_;
  std::optional<Decision> next_;
  uint64_t times_ = 0;  // How often `next_` comes, from now on.
  Status status_;
};

}  // namespace freshet
