#include "state/external_sorter.h"

#include <algorithm>
#include <boost/sort/pdqsort/pdqsort.hpp>
#include <cstring>
#include <utility>

#include "runtime/base/check.h"
#include "state/key_order.h"

namespace freshet {

namespace {

// Sorting as much takes about a second, and the task can do nothing else meanwhile.
constexpr uint64_t kMemoryBytesMax = 256u << 20;

}  // namespace

ExternalSorter::ExternalSorter(SpillSpace& space)
    : runs_(space),
      space_(space),
      memory_bytes_(
          (std::min(space.memory_bytes(), kMemoryBytesMax) - SpilledBytes::kWriteMemoryBytes) /
          sizeof(Item) * sizeof(Item)) {
  CHECK(space.memory_bytes() >= SpillSpace::kLeastMemoryBytes);
}

std::string_view ExternalSorter::key_at(uint64_t offset) const {
  EntryHeader header{};
  std::memcpy(&header, memory_.get() + offset, sizeof(header));
  return {memory_.get() + offset + sizeof(header), header.key_size};
}

std::string_view ExternalSorter::value_at(uint64_t offset) const {
  EntryHeader header{};
  std::memcpy(&header, memory_.get() + offset, sizeof(header));
  return {memory_.get() + offset + sizeof(header) + header.key_size, header.value_size};
}

ExternalSorter::Item* ExternalSorter::items_end() const {
  return reinterpret_cast<Item*>(memory_.get() + memory_bytes_);
}

ExternalSorter::Item* ExternalSorter::items_begin() const {
  return items_end() - static_cast<ptrdiff_t>(items_);
}

bool ExternalSorter::before(const Item& a, const Item& b) const {
  if (a.prefix != b.prefix) return a.prefix < b.prefix;
  const int order = key_at(a.offset).compare(key_at(b.offset));
  return order != 0 ? order < 0 : a.offset < b.offset;
}

void ExternalSorter::make_memory() {
  // Left as it is: pages that are not used are not there.
  memory_.reset(new char[memory_bytes_]);
}

Status ExternalSorter::add(std::string_view key, std::string_view value) {
  const uint64_t bytes = sizeof(EntryHeader) + key.size() + value.size();
  if (used_bytes_ + bytes + (items_ + 1) * sizeof(Item) > memory_bytes_) [[unlikely]] {
    RETURN_IF_ERROR(spill());
    if (bytes + sizeof(Item) > memory_bytes_) return spill_alone(key, value);
  }
  if (!memory_) [[unlikely]]
    make_memory();
  const EntryHeader header{static_cast<uint32_t>(key.size()), static_cast<uint32_t>(value.size())};
  char* const to = memory_.get() + used_bytes_;
  std::memcpy(to, &header, sizeof(header));
  std::memcpy(to + sizeof(header), key.data(), key.size());
  std::memcpy(to + sizeof(header) + key.size(), value.data(), value.size());
  ++items_;
  *items_begin() = Item{key_prefix(key), used_bytes_};
  used_bytes_ += bytes;
  return Status();
}

void ExternalSorter::sort() {
  boost::sort::pdqsort(items_begin(), items_end(),
                       [this](const Item& a, const Item& b) { return before(a, b); });
}

Status ExternalSorter::spill() {
  if (items_ == 0) return Status();
  sort();
  RunWriter writer(space_);
  for (const Item* item = items_begin(); item != items_end(); ++item)
    RETURN_IF_ERROR(writer.add(key_at(item->offset), value_at(item->offset)));
  ASSIGN_OR_RETURN(SortedRun run, writer.finish());
  runs_.add(std::move(run));
  spilled_runs_++;
  used_bytes_ = items_ = 0;
  return Status();
}

Status ExternalSorter::spill_alone(std::string_view key, std::string_view value) {
  RunWriter writer(space_);
  RETURN_IF_ERROR(writer.add(key, value));
  ASSIGN_OR_RETURN(SortedRun run, writer.finish());
  runs_.add(std::move(run));
  spilled_runs_++;
  return Status();
}

Result<bool> ExternalSorter::prepare() {
  if (sorted_) return true;
  if (spilled_runs_ == 0) {
    if (items_ != 0) sort();
    sorted_ = true;
    return true;
  }
  RETURN_IF_ERROR(spill());
  memory_ = nullptr;  // From here on it is for reading.
  return runs_.prepare();
}

Result<bool> ExternalSorter::next() {
  if (sorted_) {
    if (next_item_ == items_) return false;
    const uint64_t offset = items_begin()[next_item_++].offset;
    key_ = key_at(offset);
    value_ = value_at(offset);
    return true;
  }
  ASSIGN_OR_RETURN(const bool more, runs_.next());
  if (!more) return false;
  key_ = runs_.key();
  value_ = runs_.value();
  return true;
}

}  // namespace freshet
