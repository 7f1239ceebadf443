#include "jobmanager/region_schedule.h"

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/base/check.h"

namespace freshet {

namespace {

/// An input of more producers has no place.
constexpr uint32_t kProducersPreferred = 8;

/// Of its slots a job gives back a surplus of one in so many.
constexpr uint32_t kSurplusPart = 8;

}  // namespace

RegionSchedule::RegionSchedule(ExecutionGraph& graph)
    : graph_(graph),
      batch_(graph.job_graph().mode == RuntimeMode::kBatch),
      shares_(share_slots(graph.job_graph())),
      places_(graph.regions().count()) {
  ended_.resize(places_.size(), false);
  for (uint32_t r = 0; r < places_.size(); r++) {
    const SlotShares shares = shape_of(r).shares;
    needed_.push_back(shares.total);
    needed_unended_ += shares.total;
    if (!batch_ || shares.total <= slots_needed_) continue;
    slots_needed_ = shares.total;
    slots_text_ = shares.describe();
  }
  if (batch_) return;
  slots_needed_ = shares_.total;
  slots_text_ = shares_.describe();
}

uint32_t RegionSchedule::slots_wanted() const {
  if (!batch_) return shares_.total;
  return std::max(static_cast<uint32_t>(std::min<uint64_t>(shares_.total, needed_unended_)),
                  slots_needed_);
}

std::vector<Slot> RegionSchedule::take_surplus() {
  const uint32_t held = slots_.held_count(), wanted = slots_wanted();
  if (!batch_ || held <= wanted) return {};
  const uint32_t surplus = std::min(held - wanted, slots_.free_count());
  if (uint64_t{surplus} * kSurplusPart < held) return {};
  return slots_.let_go(surplus);
}

RegionSchedule::Shape RegionSchedule::shape_of(uint32_t region) const {
  Shape shape;
  const auto members = graph_.regions().members(region);
  std::map<uint32_t, uint32_t> width_of_group;
  std::vector<std::pair<uint32_t, uint32_t>> place;  // Group, and which slot of it.
  VertexId vertex{~0u};
  uint32_t of_vertex = 0;
  for (const uint32_t member : members) {
    const VertexId own = graph_.subtask_at(member).vertex;
    if (own != vertex) of_vertex = 0;
    vertex = own;
    const uint32_t group = shares_.group_of_vertex[own.value];
    place.emplace_back(group, of_vertex++);
    width_of_group[group] = std::max(width_of_group[group], of_vertex);
  }
  std::map<uint32_t, uint32_t> first_of_group;
  for (const auto& [group, width] : width_of_group) {
    first_of_group[group] = shape.shares.total;
    shape.shares.total += width;
    shape.shares.groups.push_back({shares_.groups[group].name, width});
  }
  for (const auto& [group, slot] : place)
    shape.slot_of_member.push_back(first_of_group[group] + slot);
  return shape;
}

void RegionSchedule::note_unblocked() {
  for (const uint32_t region : graph_.take_unblocked_regions()) {
    if (graph_.open_inputs(region) == 0 && graph_.begun(region) == 0) ready_.insert(region);
  }
}

bool RegionSchedule::any_ready() {
  note_unblocked();
  return !ready_.empty();
}

std::vector<RegionSchedule::Placement> RegionSchedule::start_regions() {
  note_unblocked();
  std::vector<Placement> placements;
  if (!batch_ && slots_.held_count() < shares_.total) return placements;
  for (auto it = ready_.begin(); it != ready_.end();) {
    const uint32_t region = *it;
    if (graph_.open_inputs(region) != 0) {  // Something was lost since.
      it = ready_.erase(it);
      continue;
    }
    // A smaller one behind it would let it wait for ever.
    if (batch_ && needed_[region] > slots_.free_count()) break;
    if (batch_) {
      start_batch_region(region, &placements);
    } else {
      start_fixed_region(region, &placements);
    }
    it = ready_.erase(it);
  }
  return placements;
}

void RegionSchedule::start_batch_region(uint32_t region, std::vector<Placement>* placements) {
  const Shape shape = shape_of(region);
  const auto members = graph_.regions().members(region);
  places_[region] = slots_.take(shape.shares.total, places_of_inputs(region));
  for (size_t i = 0; i < members.size(); i++)
    placements->push_back({members[i], slots_.at(places_[region][shape.slot_of_member[i]])});
}

void RegionSchedule::start_fixed_region(uint32_t region, std::vector<Placement>* placements) {
  for (const uint32_t member : graph_.regions().members(region)) {
    const SubtaskId subtask = graph_.subtask_at(member);
    const uint32_t place = shares_.first_slot_of_vertex[subtask.vertex.value] + subtask.index;
    slots_.take_place(place);
    places_[region].push_back(place);
    placements->push_back({member, slots_.at(place)});
  }
}

/// Most frequent first.
std::vector<TaskManagerId> RegionSchedule::places_of_inputs(uint32_t region) const {
  std::map<TaskManagerId, uint32_t> producers_on;
  for (const uint32_t member : graph_.regions().members(region)) {
    const SubtaskId subtask = graph_.subtask_at(member);
    for (const DatasetId dataset : graph_.inputs_of(subtask.vertex)) {
      const ConsumedPartitionGroup& group =
          graph_.group(graph_.group_read_by(dataset, subtask.index));
      if (group.producers.size() > kProducersPreferred) continue;
      const VertexId producer = graph_.job_graph().edges[dataset.value].producer;
      for (uint32_t p = group.producers.begin; p < group.producers.end; p++) {
        const Execution& execution = graph_.at(SubtaskId{producer, p});
        if (execution.state != TaskState::kCreated) producers_on[execution.task_manager]++;
      }
    }
  }
  std::vector<std::pair<uint32_t, TaskManagerId>> by_count;
  for (const auto& [id, count] : producers_on) by_count.emplace_back(count, id);
  std::stable_sort(by_count.begin(), by_count.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<TaskManagerId> preferred;
  for (const auto& [count, id] : by_count) preferred.push_back(id);
  return preferred;
}

void RegionSchedule::stop_region(uint32_t region, bool again) {
  for (const uint32_t place : std::exchange(places_[region], {})) slots_.give_back(place);
  if (ended_[region] != !again) {
    ended_[region] = !again;
    needed_unended_ += again ? needed_[region] : -uint64_t{needed_[region]};
  }
  if (again && graph_.open_inputs(region) == 0) ready_.insert(region);
}

}  // namespace freshet
