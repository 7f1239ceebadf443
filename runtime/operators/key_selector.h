#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace freshet {

/// The key of a record. Immutable and thread-safe: all subtasks of an edge share one.
template <class K, class T>
class KeySelector {
 public:
  virtual ~KeySelector() = default;

  /// The key, inside `record` or put into `scratch`: valid as long as both.
  virtual const K& key(const T& record, K& scratch) const = 0;
};

/// From a function, or a pointer to a member. One that gives a reference into the record costs no
/// copy.
template <class K, class T, class F>
class FunctionKeySelector final : public KeySelector<K, T> {
 public:
  explicit FunctionKeySelector(F function) : function_(std::move(function)) {}

  const K& key(const T& record, K& scratch) const override {
    if constexpr (std::is_lvalue_reference_v<std::invoke_result_t<const F&, const T&>>) {
      return std::invoke(function_, record);
    } else {
      scratch = std::invoke(function_, record);
      return scratch;
    }
  }

 private:
  const F function_;
};

}  // namespace freshet
