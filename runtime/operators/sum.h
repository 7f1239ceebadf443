#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "runtime/operators/batch_aggregate.h"
#include "runtime/operators/reduce.h"

namespace freshet {

/// Adds one field of a record to that of the sum: a pointer to a member, or a function `V& f(T&)`.
/// `kPlain`: the sums are numbers.
template <class Field, bool kPlain = false>
struct AddField {
  static constexpr bool kSameHeapBytes = kPlain;

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

template <class T, class Field>
using Sum = std::remove_reference_t<std::invoke_result_t<const Field&, T&>>;

/// `make(rows, is_kept)` with the rows that sums of T can have; `is_kept`: that they hold their
/// keys.
template <class K, class T, class Field, class Make>
auto with_rows(const KeySelector<K, T>& selector, Field field, Make&& make) {
  if constexpr (std::is_class_v<T>) {
    if (const KeyField<K, T> key = kept_key_field(selector, field))
      // Smaller rows, so more of them in the caches.
      return make(KeyInsideValue<K, T>{key}, std::true_type());
  }
  return make(KeyBesideValue<K, T>(), std::false_type());
}

}  // namespace sum_detail

/// Adds up one field of the records of each key; the other fields are those of the key's first.
template <class K, class T, class Field>
std::shared_ptr<const OperatorFactory> make_sum_factory(
    std::shared_ptr<const KeySelector<K, T>> selector, Field field, Emit emit) {
  using Add = AddField<Field, std::is_arithmetic_v<sum_detail::Sum<T, Field>>>;
  return sum_detail::with_rows(*selector, field, [&](auto rows, auto) {
    return make_reduce_factory(
        Reduction<K, T, Add, decltype(rows)>{selector, Add{field}, emit, rows});
  });
}

/// The same in batch, in two parts.
template <class K, class T, class Field>
BatchAggregate make_batch_sum(std::shared_ptr<const KeySelector<K, T>> selector, Field field) {
  using Add = AddField<Field, std::is_arithmetic_v<sum_detail::Sum<T, Field>>>;
  return sum_detail::with_rows(*selector, field, [&](auto rows, auto is_kept) {
    using Out = std::conditional_t<decltype(is_kept)::value, T, Partial<K, T>>;
    return make_batch_reduce<Out, K, T>(selector, Add{field}, rows);
  });
}

}  // namespace freshet
