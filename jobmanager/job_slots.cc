#include "jobmanager/job_slots.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace freshet {

void JobSlots::update(const std::vector<Slot>& slots) {
  if (taken_ == 0) clear();
  const std::set<Slot> wanted(slots.begin(), slots.end());
  std::set<Slot> there;
  for (uint32_t place = 0; place < places_.size(); place++) {
    if (!places_[place]) continue;
    if (wanted.contains(*places_[place])) {
      there.insert(*places_[place]);
      continue;
    }
    note_not_free(place);
    places_[place].reset();
    held_--;
  }
  uint32_t place = 0;
  for (const Slot& slot : slots) {
    if (there.contains(slot)) continue;
    while (holds(place)) place++;
    put(place, slot);
  }
}

void JobSlots::put(uint32_t place, const Slot& slot) {
  if (place >= places_.size()) {
    places_.resize(place + 1);
    takings_.resize(place + 1, 0);
  }
  places_[place] = slot;
  held_++;
  if (takings_[place] == 0) note_free(place);
}

void JobSlots::lose(TaskManagerId id) {
  for (uint32_t place = 0; place < places_.size(); place++) {
    if (!places_[place] || places_[place]->task_manager != id) continue;
    note_not_free(place);
    places_[place].reset();
    held_--;
  }
}

void JobSlots::clear() { *this = JobSlots(); }

std::vector<Slot> JobSlots::held() const {
  std::vector<Slot> slots;
  for (const auto& place : places_) {
    if (place) slots.push_back(*place);
  }
  return slots;
}

std::vector<uint32_t> JobSlots::take(uint32_t count, const std::vector<TaskManagerId>& preferred) {
  CHECK(count <= free_.size());
  std::vector<uint32_t> taken;
  const auto take_first = [&](const std::set<uint32_t>& places) {
    taken.push_back(*places.begin());
    take_place(taken.back());
  };
  for (const TaskManagerId id : preferred) {
    for (auto it = free_on_.find(id); it != free_on_.end() && taken.size() < count;
         it = free_on_.find(id))
      take_first(it->second);
  }
  while (taken.size() < count) take_first(free_);
  return taken;
}

std::vector<Slot> JobSlots::let_go(uint32_t count) {
  CHECK(count <= free_.size());
  std::vector<Slot> slots;
  while (slots.size() < count) {
    const uint32_t place = *free_.rbegin();
    slots.push_back(*places_[place]);
    note_not_free(place);
    places_[place].reset();
    held_--;
  }
  return slots;
}

void JobSlots::take_place(uint32_t place) {
  CHECK(holds(place));
  if (takings_[place]++ == 0) note_not_free(place);
  taken_++;
}

void JobSlots::give_back(uint32_t place) {
  CHECK(takings_[place] > 0);
  taken_--;
  if (--takings_[place] == 0 && places_[place]) note_free(place);
}

void JobSlots::note_free(uint32_t place) {
  free_.insert(place);
  free_on_[places_[place]->task_manager].insert(place);
}

void JobSlots::note_not_free(uint32_t place) {
  if (free_.erase(place) == 0) return;
  const auto found = free_on_.find(places_[place]->task_manager);
  found->second.erase(place);
  if (found->second.empty()) free_on_.erase(found);
}

}  // namespace freshet
