#include "jobmanager/region_inputs.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"

namespace freshet {

void RegionInputs::add_nothing() { first_entry_.push_back(static_cast<uint32_t>(entries_.size())); }

void RegionInputs::add_all_to_all(std::vector<IndexRange> consumer_regions, uint32_t producers) {
  const auto group = static_cast<uint32_t>(first_entry_.size()) - 1;
  wide_.push_back({group, std::move(consumer_regions), producers});
  wide_.back().for_each_region([this](uint32_t r) { open_[r]++; });
  add_nothing();
}

void RegionInputs::add_pointwise(IndexRange producers, IndexRange consumers) {
  std::vector<uint32_t> readers;
  for (uint32_t c = consumers.begin; c < consumers.end; c++)
    readers.push_back(regions_.region_of(c));
  std::sort(readers.begin(), readers.end());
  readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
  for (const uint32_t region : readers) {
    uint32_t outside = 0;
    for (uint32_t p = producers.begin; p < producers.end; p++)
      outside += regions_.region_of(p) != region;
    if (outside == 0) continue;
    entries_.push_back({region, outside});
    open_[region]++;
  }
  add_nothing();
}

RegionInputs::Wide* RegionInputs::find_wide(uint32_t group) {
  const auto found =
      std::lower_bound(wide_.begin(), wide_.end(), group,
                       [](const Wide& wide, uint32_t number) { return wide.group < number; });
  return found != wide_.end() && found->group == group ? &*found : nullptr;
}

void RegionInputs::close(uint32_t region) {
  CHECK(open_[region] > 0);
  if (--open_[region] == 0) unblocked_.push_back(region);
}

void RegionInputs::producer_ended(uint32_t group, uint32_t producer) {
  for (uint32_t e = first_entry_[group]; e < first_entry_[group + 1]; e++) {
    Entry& entry = entries_[e];
    if (entry.region == regions_.region_of(producer)) continue;
    CHECK(entry.unfinished > 0);
    if (--entry.unfinished == 0) close(entry.region);
  }
  Wide* const wide = find_wide(group);
  if (wide == nullptr) return;
  CHECK(wide->unfinished > 0);
  if (--wide->unfinished != 0) return;
  wide->for_each_region([this](uint32_t r) { close(r); });
}

void RegionInputs::producer_reopened(uint32_t group, uint32_t producer) {
  for (uint32_t e = first_entry_[group]; e < first_entry_[group + 1]; e++) {
    Entry& entry = entries_[e];
    if (entry.region == regions_.region_of(producer)) continue;
    if (entry.unfinished++ == 0) open_[entry.region]++;
  }
  Wide* const wide = find_wide(group);
  if (wide == nullptr || wide->unfinished++ != 0) return;
  wide->for_each_region([this](uint32_t r) { open_[r]++; });
}

std::vector<uint32_t> RegionInputs::take_unblocked() {
  if (!asked_) {
    asked_ = true;
    std::vector<uint32_t> unblocked;
    for (uint32_t r = 0; r < open_.size(); r++) {
      if (open_[r] == 0) unblocked.push_back(r);
    }
    unblocked_.clear();
    return unblocked;
  }
  return std::exchange(unblocked_, {});
}

}  // namespace freshet
