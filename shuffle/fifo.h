#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace freshet {

/// First in, first out; no memory before there is something in it, unlike std::deque.
template <class T>
class Fifo {
 public:
  bool empty() const { return head_ == items_.size(); }
  size_t size() const { return items_.size() - head_; }
  T& front() { return items_[head_]; }
  const T& front() const { return items_[head_]; }
  T& operator[](size_t index) { return items_[head_ + index]; }

  void push_back(T item) { items_.push_back(std::move(item)); }
  T pop_front() {
    T item = std::move(items_[head_++]);
    if (empty()) {
      items_.clear();
      head_ = 0;
    } else if (head_ >= kGapMin && 2 * head_ >= items_.size()) {
      items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(head_));
      head_ = 0;
    }
    return item;
  }
  void clear() {
    items_.clear();
    head_ = 0;
  }
  void swap(Fifo& other) noexcept {
    items_.swap(other.items_);
    std::swap(head_, other.head_);
  }

 private:
  static constexpr size_t kGapMin = 16;

  std::vector<T> items_;
  size_t head_ = 0;  // Those before it were taken.
};

}  // namespace freshet
