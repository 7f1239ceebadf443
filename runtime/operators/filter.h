#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "runtime/operators/operator.h"

namespace freshet {

/// Passes on those records for which `F(const T&) -> bool` is true.
template <class T, class F>
class FilterOperator final : public Operator {
 public:
  explicit FilterOperator(F function) : function_(std::move(function)) {}

  void open(OperatorContext& /*context*/, std::vector<RecordReceiver*> outputs) override {
    to_ = outputs.at(0);
  }

  void process(uint32_t /*input*/, const void* record, EpochMillis timestamp) override {
    if (std::invoke(function_, *static_cast<const T*>(record))) to_->receive(record, timestamp);
  }

 private:
  F function_;
  RecordReceiver* to_ = nullptr;
};

}  // namespace freshet
