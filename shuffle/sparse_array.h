#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace freshet {

/// Objects by a dense index of which only some exist: pages of pointers, so that what does not
/// exist costs next to nothing. Objects stay where they are, and go all at once: so they lie side
/// by side in slabs, each of as many as there are already.
template <class T>
class SparseArray {
 public:
  explicit SparseArray(uint32_t size) : pages_((static_cast<size_t>(size) + kPage - 1) / kPage) {}
  ~SparseArray() { clear(); }
  SparseArray(const SparseArray&) = delete;
  SparseArray& operator=(const SparseArray&) = delete;
  SparseArray(SparseArray&&) = delete;
  SparseArray& operator=(SparseArray&&) = delete;

  /// Null when it does not exist. `index` is below the size.
  T* find(uint32_t index) const {
    const auto& page = pages_[index / kPage];
    return page ? (*page)[index % kPage] : nullptr;
  }

  /// Makes it, once.
  template <class... Args>
  T& create(uint32_t index, Args&&... args) {
    auto& page = pages_[index / kPage];
    if (!page) page = std::make_unique<Page>();
    if (slabs_.empty() || slabs_.back().used == slabs_.back().size) add_slab();
    Slab& slab = slabs_.back();
    T* const object = new (slab.memory.get() + slab.used) T(std::forward<Args>(args)...);
    ++slab.used;
    (*page)[index % kPage] = object;
    return *object;
  }

  /// Visits all that exist, by rising index: `visit(index, T&)`.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (size_t p = 0; p < pages_.size(); ++p) {
      if (!pages_[p]) continue;
      for (size_t i = 0; i < kPage; ++i) {
        if (T* object = (*pages_[p])[i]) visit(static_cast<uint32_t>(p * kPage + i), *object);
      }
    }
  }

  /// None exists any more.
  void clear() {
    for (const Slab& slab : slabs_) std::destroy_n(slab.memory.get(), slab.used);
    slabs_.clear();
    for (auto& page : pages_) page = nullptr;
  }

 private:
  static constexpr size_t kPage = 64;
  static constexpr size_t kSlabMax = 32;
  using Page = std::array<T*, kPage>;
  struct Free {
    void operator()(T* memory) const { ::operator delete (memory, std::align_val_t{alignof(T)}); }
  };
  struct Slab {
    std::unique_ptr<T, Free> memory;  // Of `size`, of which the first `used` are objects.
    size_t size = 0;
    size_t used = 0;
  };

  void add_slab() {
    const size_t size = slabs_.empty() ? 1 : std::min(2 * slabs_.back().size, kSlabMax);
    void* const memory = ::operator new (size * sizeof(T), std::align_val_t{alignof(T)});
    slabs_.push_back({std::unique_ptr<T, Free>(static_cast<T*>(memory)), size, 0});
  }

  std::vector<std::unique_ptr<Page>> pages_;
  std::vector<Slab> slabs_;
};

}  // namespace freshet
