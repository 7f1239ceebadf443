#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "shuffle/segment_pool.h"

namespace freshet {

/// A piece of one channel's stream, immutable: elements back to back in a block, or one event.
/// Copies share the block.
struct Buffer {
  Buffer() = default;
  /// The first `bytes` of a block.
  Buffer(ConstBlockRef memory, uint32_t bytes)
      : block(std::move(memory)), data(block->data()), size(bytes) {}

  ConstBlockRef block;
  const char* data = nullptr;  // In the block.
  uint32_t size = 0;
  bool event = false;             // Then the bytes are u8 ElementKind, fields. Costs no credit.
  uint8_t flags = 0;              // kFrame... bits.
  uint32_t elements_started = 0;  // In these bytes.
  uint64_t first_element = 0;  // Number of the first of them; of the next one when there is none.
  uint32_t hash = 0;        // Low half of the rolling hash after the last element that ends here.
  uint32_t gate = 0;        // Low half of the producer's log position.
  uint32_t tail_bytes = 0;  // At the producer: before the first element that starts here.
  bool kept = false;        // At the producer: a heap copy that no account is charged for.

  std::string_view bytes() const { return {data, size}; }

  /// True when the start of `element` is in these bytes.
  bool has_start_of(uint64_t element) const {
    return element >= first_element && element - first_element < elements_started;
  }

  /// True when `next` is what comes behind this in the same block, of the same kind: both can be
  /// one.
  bool goes_on_in(const Buffer& next) const;
  /// What comes behind becomes part of this.
  void append(const Buffer& next);

  /// Begins to bring it into the cache, if it is small: a large one comes by itself as it is read.
  void prefetch() const {
    constexpr uint32_t kLineBytes = 64;
    constexpr uint32_t kPrefetchedMax = 512;
    __builtin_prefetch(block.get(), 1);
    for (uint32_t at = 0; at < size && at < kPrefetchedMax; at += kLineBytes)
      __builtin_prefetch(data + at);
  }

  /// Bytes of credit that sending it takes: of the smallest block that holds it.
  uint32_t charge() const { return event ? 0 : block_bytes_for(size); }
};

/// Cuts off what is before the start of `element`, which is in these bytes. `fixed_record_size` as
/// in RecordLayout.
void cut_before(uint64_t element, uint32_t fixed_record_size, Buffer* buffer);

/// Cuts off the first `bytes` (at least 1, fewer than there are) as a buffer of their own; an
/// element may go on in the rest. Their hash is not known: 0. Not of events.
Buffer split_off(uint32_t bytes, uint32_t fixed_record_size, Buffer* buffer);

/// First in, first out; without memory of its own while empty from the start.
class BufferQueue {
 public:
  bool empty() const { return head_ == buffers_.size(); }
  size_t size() const { return buffers_.size() - head_; }
  const Buffer& front() const { return buffers_[head_]; }
  Buffer& front() { return buffers_[head_]; }
  const Buffer& back() const { return buffers_.back(); }
  Buffer& back() { return buffers_.back(); }

  void push(Buffer buffer) { buffers_.push_back(std::move(buffer)); }

  void push_front(Buffer buffer) {
    if (head_ > 0) {
      buffers_[--head_] = std::move(buffer);
    } else {
      buffers_.insert(buffers_.begin(), std::move(buffer));
    }
  }

  Buffer pop() {
    Buffer buffer = std::move(buffers_[head_++]);
    if (head_ == buffers_.size()) {
      buffers_.clear();
      head_ = 0;
    } else if (head_ >= 64 && head_ * 2 >= buffers_.size()) {
      buffers_.erase(buffers_.begin(), buffers_.begin() + static_cast<std::ptrdiff_t>(head_));
      head_ = 0;
    }
    return buffer;
  }

  Buffer pop_back() {
    Buffer buffer = std::move(buffers_.back());
    buffers_.pop_back();
    if (head_ == buffers_.size()) {
      buffers_.clear();
      head_ = 0;
    }
    return buffer;
  }

  /// All of it, for the caller to drop where that is allowed.
  std::vector<Buffer> take_all() {
    head_ = 0;
    return std::exchange(buffers_, {});
  }

  /// The charges of all, as far as they are at most about `bytes_max`.
  uint64_t charge(uint64_t bytes_max) const {
    uint64_t bytes = 0;
    for (size_t i = head_; i < buffers_.size() && bytes < bytes_max; ++i)
      bytes += buffers_[i].charge();
    return bytes;
  }

  /// True when one is not an event.
  bool has_data() const {
    for (size_t i = head_; i < buffers_.size(); ++i) {
      if (!buffers_[i].event) return true;
    }
    return false;
  }

  /// True when every buffer's charge is at most `bytes`.
  bool fits(uint32_t bytes) const {
    for (size_t i = head_; i < buffers_.size(); ++i) {
      if (buffers_[i].charge() > bytes) return false;
    }
    return true;
  }

 private:
  std::vector<Buffer> buffers_;
  size_t head_ = 0;
};

}  // namespace freshet
