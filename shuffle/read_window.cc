#include "shuffle/read_window.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace freshet {

std::shared_ptr<const ReadWindow> ReadWindow::make(ReadPool& pool, uint32_t region, uint64_t offset,
                                                   std::string_view bytes,
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
  if (end <= first) return nullptr;
  const BlockRef memory = pool.allocate_window(static_cast<uint32_t>(size));
  if (!memory) return nullptr;
  std::memcpy(memory->data(), bytes.data(), size);
  std::shared_ptr<ReadWindow> window(new ReadWindow(region, memory));
  window->offset_ = offset;
  entries.resize(whole);
  window->entries_ = std::move(entries);
  window->first_ = first;
  window->end_ = end;
  return window;
}

std::optional<ReadWindow::Part> ReadWindow::find(uint32_t subpartition) const {
  auto entry = entries_.begin();
  if (entry != entries_.end() && entry->subpartition != kAllSubpartitions) {
    entry = std::lower_bound(entry, entries_.end(), subpartition,
                             [](const IndexEntry& e, uint32_t s) { return e.subpartition < s; });
    if (entry != entries_.end() && entry->subpartition != subpartition) entry = entries_.end();
  }
  if (entry == entries_.end()) return std::nullopt;
  return Part{*entry, {memory_->data() + (entry->offset - offset_), entry->bytes}};
}

}  // namespace freshet
