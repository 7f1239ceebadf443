#include "runtime/chaos/record_counts.h"

namespace freshet::chaos {

namespace {

constexpr size_t kPlacesMin = 1024;

}  // namespace

size_t RecordCounts::place_of(const Hash128& hash) const {
  const size_t mask = places_.size() - 1;
  size_t place = hash.low & mask;
  while (!places_[place].is_free() && places_[place].hash != hash) place = (place + 1) & mask;
  return place;
}

void RecordCounts::put(const Entry& entry) {
  places_[place_of(entry.hash)] = entry;
  size_++;
}

void RecordCounts::grow() {
  std::vector<Entry> old(places_.empty() ? kPlacesMin : places_.size() * 2);
  old.swap(places_);
  size_ = 0;
  for (const Entry& entry : old) {
    if (!entry.is_free()) put(entry);
  }
}

RecordCounts::Entry* RecordCounts::find(const Hash128& hash) {
  if (places_.empty()) return nullptr;
  Entry& entry = places_[place_of(hash)];
  return entry.is_free() ? nullptr : &entry;
}

RecordCounts::Entry& RecordCounts::at(const Hash128& hash, uint64_t id) {
  if (size_ >= places_.size() / 8 * 7) grow();
  Entry& entry = places_[place_of(hash)];
  if (!entry.is_free()) return entry;
  entry.hash = hash;
  entry.id = id;
  size_++;
  return entry;
}

void RecordCounts::clear() {
  places_.clear();
  size_ = 0;
}

std::optional<KeyPart> KeyPart::first_half() const {
  if (bits == 64) return std::nullopt;
  return KeyPart{prefix << 1, bits + 1};
}

std::optional<KeyPart> KeyPart::next() const {
  KeyPart part = *this;
  while (part.bits > 0 && (part.prefix & 1) != 0) part = {part.prefix >> 1, part.bits - 1};
  if (part.bits == 0) return std::nullopt;
  part.prefix |= 1;
  return part;
}

}  // namespace freshet::chaos
