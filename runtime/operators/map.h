#pragma once

#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/operators/operator.h"

namespace freshet {

/// One record out for each record in: `F(const T&) -> U`.
template <class T, class F>
class MapOperator final : public Operator {
 public:
  using Output = std::remove_cvref_t<std::invoke_result_t<F&, const T&>>;

  explicit MapOperator(F function) : function_(std::move(function)) {}

  void open(OperatorContext& /*context*/, std::vector<RecordReceiver*> outputs) override {
    to_ = outputs.at(0);
  }

  void process(uint32_t /*input*/, const void* record, EpochMillis timestamp) override {
    const Output& result = std::invoke(function_, *static_cast<const T*>(record));
    to_->receive(&result, timestamp);
  }

 private:
  F function_;
  RecordReceiver* to_ = nullptr;
};

}  // namespace freshet
