#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace freshet {

namespace key_selector_detail {

template <class K, class T>
struct Field {
  using Type = std::nullptr_t;
};
template <class K, class T>
requires std::is_class_v<T>
struct Field<K, T> {
  using Type = K T::*;
};

}  // namespace key_selector_detail

/// Points to the field of T that is its key. Always null when T has no fields.
template <class K, class T>
using KeyField = typename key_selector_detail::Field<K, T>::Type;

/// The key of a record. Immutable and thread-safe: all subtasks of an edge share one.
template <class K, class T>
class KeySelector {
 public:
  virtual ~KeySelector() = default;

  /// The key, inside `record` or put into `scratch`: valid as long as both.
  virtual const K& key(const T& record, K& scratch) const = 0;

  /// The field that is the key; null when it is computed.
  virtual KeyField<K, T> field() const { return nullptr; }
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

  KeyField<K, T> field() const override {
    if constexpr (std::is_same_v<F, KeyField<K, T>>) {
      return function_;
    } else {
      return nullptr;
    }
  }

 private:
  const F function_;
};

}  // namespace freshet
