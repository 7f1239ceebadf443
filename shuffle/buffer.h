#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "shuffle/prefetch.h"
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
  const char* data = nullptr;     // In the block.
  uint64_t first_element = 0;     // Number of the first that starts here; of the next one if none.
  uint32_t size = 0;              // Bytes.
  uint32_t elements_started = 0;  // In these bytes.
  uint32_t hash = 0;        // Low half of the rolling hash after the last element that ends here.
  uint32_t gate = 0;        // Low half of the producer's log position.
  uint32_t tail_bytes = 0;  // At the producer: before the first element that starts here.
  uint8_t flags = 0;        // kFrame... bits.
  bool event = false;       // The bytes are u8 ElementKind, fields. Costs no credit.
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
  [[gnu::always_inline]] void prefetch() const {
    constexpr uint32_t kPrefetchedMax = kSmallBlockBytes;
    __builtin_prefetch(block.get(), 1);
    prefetch_bytes(data, std::min(size, kPrefetchedMax));
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

/// First in, first out. The first two are in place: with very many queues, of which most hold no
/// more, what is elsewhere would cost a wait for memory.
class BufferQueue {
 public:
  bool empty() const { return count_ == 0; }
  size_t size() const { return count_; }
  const Buffer& front() const { return first_[0]; }
  Buffer& front() { return first_[0]; }
  const Buffer& back() const {
    return count_ > kInPlace ? more_->buffers.back() : first_[count_ - 1];
  }
  Buffer& back() { return count_ > kInPlace ? more_->buffers.back() : first_[count_ - 1]; }

  void push(Buffer buffer) {
    if (count_ < kInPlace) {
      first_[count_++] = std::move(buffer);
    } else {
      push_more(std::move(buffer));
    }
  }

  void push_front(Buffer buffer);

  Buffer pop() {
    Buffer buffer = std::exchange(first_[0], std::move(first_[1]));
    if (count_-- > kInPlace) next();
    return buffer;
  }

  Buffer pop_back();

  /// All of it, for the caller to drop where that is allowed.
  std::vector<Buffer> take_all();

  /// The charges of all, as far as they are at most about `bytes_max`.
  uint64_t charge(uint64_t bytes_max) const {
    uint64_t bytes = 0;
    (void)each([&](const Buffer& buffer) {
      bytes += buffer.charge();
      return bytes < bytes_max;
    });
    return bytes;
  }

  /// True when one is not an event.
  bool has_data() const {
    return !each([](const Buffer& buffer) { return buffer.event; });
  }

  /// True when every buffer's charge is at most `bytes`.
  bool fits(uint32_t bytes) const {
    return each([&](const Buffer& buffer) { return buffer.charge() <= bytes; });
  }

 private:
  static constexpr uint32_t kInPlace = 2;
  struct More {
    std::vector<Buffer> buffers;  // From `begin` on.
    size_t begin = 0;
  };

  /// As long as `visit(buffer)` is true; true if it always was.
  template <class Visit>
  bool each(Visit&& visit) const {
    if (!std::all_of(first_.begin(), first_.begin() + std::min(count_, kInPlace), visit))
      return false;
    if (count_ <= kInPlace) return true;
    return std::all_of(more_->buffers.begin() + static_cast<std::ptrdiff_t>(more_->begin),
                       more_->buffers.end(), visit);
  }
  void push_more(Buffer buffer);
  /// The first one of `more_` becomes the second.
  void next();

  std::array<Buffer, kInPlace> first_;
  std::unique_ptr<More> more_;  // The rest; not looked at while there is none.
  uint32_t count_ = 0;
};

}  // namespace freshet
