#pragma once

#include <memory>
#include <utility>

#include "runtime/operators/operator.h"

namespace freshet {

/// Makes operators of one class from a copy of what the user wrote: each subtask has its own copy.
template <class OperatorType, class Function>
class FunctionFactory final : public OperatorFactory {
 public:
  explicit FunctionFactory(Function function) : function_(std::move(function)) {}

  std::unique_ptr<Operator> make() const override {
    return std::make_unique<OperatorType>(Function(function_));
  }

  bool uses_spill_space() const override {
    if constexpr (requires { OperatorType::uses_spill_space(function_); }) {
      return OperatorType::uses_spill_space(function_);
    } else {
      return false;
    }
  }

 private:
  const Function function_;
};

template <class OperatorType, class Function>
std::shared_ptr<const OperatorFactory> make_function_factory(Function function) {
  return std::make_shared<FunctionFactory<OperatorType, Function>>(std::move(function));
}

}  // namespace freshet
