#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "runtime/operators/reduce.h"

namespace freshet {

/// Adds one field of a record to that of the sum: a pointer to a member, or a function `V& f(T&)`.
template <class Field>
struct AddField {
  template <class T>
  void operator()(T& so_far, const T& record) const {
    std::invoke(field, so_far) += std::invoke(field, record);
  }

  Field field;
};

namespace sum_detail {

/// True when writing one of two fields leaves the other as it is.
template <class T, class A, class B>
bool apart(A a, B b) {
  const T record{};
  const auto begin_a = reinterpret_cast<const char*>(&(record.*a));
  const auto begin_b = reinterpret_cast<const char*>(&(record.*b));
  const std::less_equal<const char*> before;
  return before(begin_a + sizeof(record.*a), begin_b) ||
         before(begin_b + sizeof(record.*b), begin_a);
}

/// When keys are in another field than sums, and compared as they are there: that field.
template <class K, class T, class Field>
KeyField<K, T> kept_key_field(const KeySelector<K, T>& selector, Field field) {
  if constexpr (heap_table_detail::kComparedAsValue<K> && std::is_member_object_pointer_v<Field> &&
                std::is_class_v<T>) {
    const KeyField<K, T> key = selector.field();
    if (key != nullptr && apart<T>(key, field)) return key;
  }
  return nullptr;
}

}  // namespace sum_detail

/// Adds up one field of the records of each key; the other fields are those of the key's first.
template <class K, class T, class Field>
std::shared_ptr<const OperatorFactory> make_sum_factory(
    std::shared_ptr<const KeySelector<K, T>> selector, Field field, Emit emit) {
  const AddField<Field> add{std::move(field)};
  if constexpr (std::is_class_v<T>) {
    if (const KeyField<K, T> key = sum_detail::kept_key_field(*selector, add.field)) {
      // The sum itself holds the key: smaller rows, so more of them in the caches.
      return make_reduce_factory(
          Reduction<K, T, AddField<Field>, KeyInsideValue<K, T>>{selector, add, emit, {key}});
    }
  }
  return make_reduce_factory(Reduction<K, T, AddField<Field>>{selector, add, emit});
}

}  // namespace freshet
