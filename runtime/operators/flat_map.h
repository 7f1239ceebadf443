#pragma once

#include <utility>
#include <vector>

#include "runtime/operators/collector.h"
#include "runtime/operators/operator.h"

namespace freshet {

/// Any number of records out for each record in: `F(const T&, Collector<U>&)`.
template <class T, class U, class F>
class FlatMapOperator final : public Operator {
 public:
  explicit FlatMapOperator(F function) : function_(std::move(function)) {}

  void open(OperatorContext& /*context*/, std::vector<RecordReceiver*> outputs) override {
    to_ = Collector<U>(outputs.at(0));
  }

  void process(uint32_t /*input*/, const void* record, EpochMillis timestamp) override {
    to_.set_timestamp(timestamp);
    function_(*static_cast<const T*>(record), to_);
  }

 private:
  F function_;
  Collector<U> to_;
};

}  // namespace freshet
