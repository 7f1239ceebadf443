#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/operators/operator.h"
#include "runtime/testing/test_context.h"

namespace freshet::testing {

/// What an operator emitted on one output, in order.
template <class T>
class CollectedOutput final : public RecordReceiver {
 public:
  struct Entry {
    T record;
    EpochMillis timestamp;
  };

  void receive(const void* record, EpochMillis timestamp) override {
    entries.push_back({*static_cast<const T*>(record), timestamp});
  }

  std::vector<Entry> entries;
};

/// Runs one operator with one output by hand, as a task would: opens it at once, closes it at the
/// end. What its code throws passes through.
template <class Out>
class OperatorHarness {
 public:
  explicit OperatorHarness(const OperatorFactory& factory, TestContext::Options options = {})
      : context_(std::move(options)), operator_(factory.make()) {
    operator_->open(context_, {&output_});
  }
  ~OperatorHarness() { operator_->close(); }
  OperatorHarness(const OperatorHarness&) = delete;
  OperatorHarness& operator=(const OperatorHarness&) = delete;

  template <class In>
  void process(const In& record, EpochMillis timestamp = kNoTimestamp, uint32_t input = 0) {
    operator_->process(input, &record, timestamp);
  }

  void end_input(uint32_t input = 0) { operator_->end_input(input); }

  /// One call of finish(); true when the operator is done.
  bool finish_some() { return operator_->finish(); }

  /// Ends the only input and finishes.
  void end() {
    end_input();
    while (!finish_some()) {
    }
  }

  /// What was emitted since the last call.
  std::vector<Out> take_outputs() {
    std::vector<Out> records;
    for (auto& entry : take_entries()) records.push_back(std::move(entry.record));
    return records;
  }
  std::vector<typename CollectedOutput<Out>::Entry> take_entries() {
    return std::exchange(output_.entries, {});
  }

  ManualClock& clock() { return context_.clock(); }
  Operator& operator_under_test() { return *operator_; }
  CollectedOutput<Out>& output() { return output_; }

 private:
  TestContext context_;
  CollectedOutput<Out> output_;
  std::unique_ptr<Operator> operator_;
};

}  // namespace freshet::testing
