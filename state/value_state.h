#pragma once

#include <utility>

namespace freshet {

/// Where the values of one state live: what a backend implements for each type. All functions speak
/// of the current key of the operator.
template <class T>
class ValueStore {
 public:
  virtual ~ValueStore() = default;

  /// Null when there is none. Valid until the next call of any function of this store, or change of
  /// key.
  virtual const T* get() = 0;
  virtual void set(T value) = 0;
  virtual void clear() = 0;
};

/// One value per key, as user code holds it. A handle: copies speak of the same state, which
/// outlives them.
template <class T>
class ValueState {
 public:
  ValueState() = default;
  explicit ValueState(ValueStore<T>* store) : store_(store) {}

  bool has_value() const { return store_->get() != nullptr; }

  /// Null when there is none. Valid until this state or the key changes.
  const T* get() const { return store_->get(); }

  T value_or(T otherwise) const {
    const T* value = store_->get();
    return value == nullptr ? std::move(otherwise) : *value;
  }

  void update(T value) { store_->set(std::move(value)); }
  void clear() { store_->clear(); }

 private:
  ValueStore<T>* store_ = nullptr;
};

}  // namespace freshet
