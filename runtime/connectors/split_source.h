#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/operators/operator.h"
#include "runtime/operators/source.h"

namespace freshet {

/// The splits of one source, in the order in which they are given away. Used by the enumerator's
/// task only.
class SplitSupply {
 public:
  virtual ~SplitSupply() = default;

  /// Called once, before the first next(). Looks at the world outside through context.external()
  /// only. Throws when there is no such input.
  virtual void open(OperatorContext& context) = 0;

  /// Before anything was given away: so many readers there are. True: next() begins anew, with
  /// splits for as many.
  virtual bool divide_for(uint32_t /*readers*/) { return false; }

  /// The next split's payload; none when all were given.
  virtual std::optional<std::string> next() = 0;
};

/// Gives each reader that asks the next split, and ends when none is left: input 0 SplitRequest,
/// output 0 Split. In a batch job nobody asks (input 0 is not connected), because readers start
/// when all splits are given: then each reader gets the next one in turn.
class SplitEnumerator final : public SourceOperator {
 public:
  explicit SplitEnumerator(std::unique_ptr<SplitSupply> supply) : supply_(std::move(supply)) {}

  void open(OperatorContext& context, std::vector<RecordReceiver*> outputs) override;
  void process(uint32_t input, const void* record, EpochMillis timestamp) override;
  PollResult poll(uint32_t max_records) override;
  bool wants_input() const override { return true; }

 private:
  std::unique_ptr<SplitSupply> supply_;
  RecordReceiver* splits_ = nullptr;
  bool asked_ = false;
  uint32_t readers_ = 0;      // That get splits in turn; 0: they ask.
  uint32_t next_reader_ = 0;  // Of these.
  std::optional<std::string>
      next_;  // Looked up one ahead, so that the end is known with the last split.
};

/// The protocol of a reader: asks for a split when it starts and after each one (if output 1 is
/// connected), ends when the enumerator has ended and its last split is read. Input 0 Split, output
/// 0 the records, output 1 SplitRequest. Subclasses read.
class SplitReader : public SourceOperator {
 public:
  void open(OperatorContext& context, std::vector<RecordReceiver*> outputs) override;
  void process(uint32_t input, const void* record, EpochMillis timestamp) override;
  void end_input(uint32_t /*input*/) override { no_more_splits_ = true; }
  PollResult poll(uint32_t max_records) override;
  bool wants_input() const override { return !reading_; }
  uint64_t source_records() const override { return records_; }

 protected:
  virtual void open_split(const std::string& payload) = 0;

  /// Emits at most `max_records` of the split to `to`, adds their number to `count`; false when the
  /// split is read.
  virtual bool read(uint32_t max_records, RecordReceiver& to, uint64_t* count) = 0;

  /// From read(): there is nothing to emit before `time`. read() is called again then, or earlier.
  void wait_until(EpochMillis time) {
    context_->wake_at(time);
    waiting_ = true;
  }

  OperatorContext& context() { return *context_; }

 private:
  void ask();

  OperatorContext* context_ = nullptr;
  RecordReceiver* output_ = nullptr;
  RecordReceiver* requests_ = nullptr;
  bool asked_ = false;
  bool reading_ = false;
  bool waiting_ = false;
  bool no_more_splits_ = false;
  uint64_t records_ = 0;
};

/// `check` runs before the job starts; may be empty.
std::shared_ptr<const OperatorFactory> make_enumerator_factory(
    std::function<std::unique_ptr<SplitSupply>()> make,
    std::function<Status(FileSystem&)> check = {});

std::shared_ptr<const OperatorFactory> make_reader_factory(
    std::function<std::unique_ptr<SplitReader>()> make);

/// Inclusive.
struct NumberRange {
  uint64_t first = 0;
  uint64_t last = 0;
};

/// The payload of sources whose splits are ranges of numbers. decode_range() throws CodecError for
/// what is none.
std::string encode_range(const NumberRange&);
NumberRange decode_range(const std::string& payload);

/// Cuts `all` (none: no split) into at most 64 equal ranges, of at most 1,048,576 indexes each.
std::unique_ptr<SplitSupply> make_range_supply(std::optional<NumberRange> all);

}  // namespace freshet
