#include "shuffle/read_window.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace freshet {

std::shared_ptr<const ReadWindow> ReadWindow::make(std::shared_ptr<ReadPool> pool, uint32_t region,
                                                   uint64_t offset, std::string_view bytes,
                                                   std::vector<IndexEntry> entries, uint32_t first,
                                                   uint32_t end) {
  size_t whole = 0;
  size_t size = 0;
  for (; whole < entries.size(); ++whole) {
    const IndexEntry& entry = entries[whole];
    const bool is_whole = entry.offset >= offset && entry.end() <= offset + bytes.size();
    if (!is_whole) break;
    size = std::max<size_t>(size, entry.end() - offset);
  }
  const bool for_all = !entries.empty() && entries.front().subpartition == kAllSubpartitions;
  if (whole < entries.size()) end = for_all ? first : entries[whole].subpartition;
  if (end <= first || !pool->take_window(size)) return nullptr;
  std::shared_ptr<ReadWindow> window(new ReadWindow(std::move(pool), region));
  window->offset_ = offset;
  window->size_ = size;
  window->bytes_ = std::make_unique_for_overwrite<char[]>(size);
  std::memcpy(window->bytes_.get(), bytes.data(), size);
  entries.resize(whole);
  window->entries_ = std::move(entries);
  window->first_ = first;
  window->end_ = end;
  return window;
}

ReadWindow::~ReadWindow() { pool_->give_window(size_); }

std::optional<ReadWindow::Part> ReadWindow::find(uint32_t subpartition) const {
  auto entry = entries_.begin();
  if (entry != entries_.end() && entry->subpartition != kAllSubpartitions) {
    entry = std::lower_bound(entry, entries_.end(), subpartition,
                             [](const IndexEntry& e, uint32_t s) { return e.subpartition < s; });
    if (entry != entries_.end() && entry->subpartition != subpartition) entry = entries_.end();
  }
  if (entry == entries_.end()) return std::nullopt;
  return Part{*entry, {bytes_.get() + (entry->offset - offset_), entry->bytes}};
}

}  // namespace freshet
