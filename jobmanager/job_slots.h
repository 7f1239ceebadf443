#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "jobmanager/resource_manager.h"

namespace freshet {

/// The slots that a job holds, at places that do not change while it holds them, and which of them
/// are taken by a region. Pure.
class JobSlots {
 public:
  /// All that the job holds now. New ones fill the places of those that are gone, in their order;
  /// when no place is taken all have the order of `slots`.
  void update(const std::vector<Slot>& slots);
  /// The slots of a TaskManager are gone.
  void lose(TaskManagerId);
  void clear();

  /// In the order of their places.
  std::vector<Slot> held() const;
  uint32_t held_count() const { return held_; }
  bool holds(uint32_t place) const { return place < places_.size() && places_[place].has_value(); }
  const Slot& at(uint32_t place) const { return *places_[place]; }

  uint32_t free_count() const { return static_cast<uint32_t>(free_.size()); }
  /// Places that were free, of TaskManagers in `preferred` before others, each in ascending order.
  /// There are enough.
  std::vector<uint32_t> take(uint32_t count, const std::vector<TaskManagerId>& preferred);
  /// Lets go so many that are free, those at the last places. There are enough.
  std::vector<Slot> let_go(uint32_t count);
  /// Takes one place, which several may have taken.
  void take_place(uint32_t place);
  /// Gives one taking of the place back.
  void give_back(uint32_t place);

 private:
  void put(uint32_t place, const Slot&);
  void note_free(uint32_t place);
  void note_not_free(uint32_t place);

  std::vector<std::optional<Slot>> places_;
  std::vector<uint32_t> takings_;  // By place.
  std::set<uint32_t> free_;        // Places that hold a slot that nobody has taken.
  std::map<TaskManagerId, std::set<uint32_t>> free_on_;
  uint32_t held_ = 0;
  uint32_t taken_ = 0;  // All takings.
};

}  // namespace freshet
