#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace freshet {

/// Objects by a dense index of which only some exist: pages of pointers, so that what does not
/// exist costs next to nothing. Objects stay where they are.
template <class T>
class SparseArray {
 public:
  explicit SparseArray(uint32_t size) : pages_((static_cast<size_t>(size) + kPage - 1) / kPage) {}

  /// Null when it does not exist. `index` is below the size.
  T* find(uint32_t index) const {
    const auto& page = pages_[index / kPage];
    return page ? (*page)[index % kPage].get() : nullptr;
  }

  /// Makes it, once.
  template <class... Args>
  T& create(uint32_t index, Args&&... args) {
    auto& page = pages_[index / kPage];
    if (!page) page = std::make_unique<Page>();
    auto& place = (*page)[index % kPage];
    place = std::make_unique<T>(std::forward<Args>(args)...);
    return *place;
  }

  /// Visits all that exist, by rising index: `visit(index, T&)`.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (size_t p = 0; p < pages_.size(); ++p) {
      if (!pages_[p]) continue;
      for (size_t i = 0; i < kPage; ++i) {
        if (T* object = (*pages_[p])[i].get()) visit(static_cast<uint32_t>(p * kPage + i), *object);
      }
    }
  }

 private:
  static constexpr size_t kPage = 64;
  using Page = std::array<std::unique_ptr<T>, kPage>;
  std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace freshet
