#include "tests/sim/sim_chaos.h"

#include <iterator>
#include <utility>

namespace freshet::sim {

namespace {

constexpr Duration kLookAgain = 50ms;
constexpr Duration kShort = 3s;  // Less than a heartbeat timeout.
constexpr Duration kLong = 40s;  // More than that.
constexpr Duration kHeld = 20s;  // More than it takes to give a connection up.
constexpr Duration kSplit = 5s;
constexpr Duration kFull = 2500ms;    // Less than all tries to publish take.
constexpr Duration kStalled = 20s;    // Less than a cancellation may take.
constexpr uint64_t kRefusalsMax = 3;  // Less than there are tries to publish.

}  // namespace

SimChaos::SimChaos(SimCluster& cluster)
    : cluster_(cluster), random_(cluster.world().queue().random().fork()) {}

const std::vector<SimChaos::Kind>& SimChaos::table() {
  static const std::vector<Kind> kinds = {
      {"crash", &SimChaos::crash},
      {"pause", &SimChaos::pause},
      {"zombie", &SimChaos::make_zombie},
      {"job_manager_pause", &SimChaos::pause_job_manager},
      {"reset", &SimChaos::reset},
      {"clog", &SimChaos::clog},
      {"hold", &SimChaos::hold},
      {"split", &SimChaos::split},
      {"host_reboot", &SimChaos::reboot_host},
      {"host_loss", &SimChaos::lose_host},
      {"disk_full", &SimChaos::fill_disk},
      {"file_server_full", &SimChaos::fill_file_server},
      {"file_errors", &SimChaos::refuse_operations},
      {"files_stalled", &SimChaos::stall_files},
  };
  return kinds;
}

std::vector<std::string> SimChaos::kinds() {
  std::vector<std::string> names;
  for (const Kind& kind : table()) names.emplace_back(kind.name);
  return names;
}

uint64_t SimChaos::done_count() const {
  uint64_t count = 0;
  for (const auto& [name, times] : done_) count += times;
  return count;
}

void SimChaos::start(uint32_t count, Duration span) {
  SimEventQueue& queue = cluster_.world().queue();
  for (uint32_t i = 0; i < count; ++i) {
    queue.add(queue.now() + up_to(span), 0, "fault", [this] { break_one_thing(); });
  }
}

Duration SimChaos::up_to(Duration longest) {
  return Duration(random_->below(static_cast<uint64_t>(longest.count())));
}

void SimChaos::break_one_thing() {
  const std::vector<SimProcess*> live = cluster_.task_managers();
  const Kind& kind = table()[random_->below(table().size())];
  if (!live.empty() && (this->*kind.break_it)(*live[random_->below(live.size())])) {
    ++done_[kind.name];
    return;
  }
  SimEventQueue& queue = cluster_.world().queue();
  queue.add(queue.now() + kLookAgain, 0, "fault", [this] { break_one_thing(); });
}

SimProcess* SimChaos::peer_of(const SimProcess& victim) {
  const std::vector<SimProcess*> live = cluster_.task_managers();
  SimProcess* const other = live[random_->below(live.size())];
  return other == &victim ? cluster_.job_manager() : other;
}

bool SimChaos::crash(SimProcess& victim) {
  victim.crash();
  return true;
}

bool SimChaos::pause(SimProcess& victim) {
  victim.pause(up_to(kShort));
  return true;
}

bool SimChaos::make_zombie(SimProcess& victim) {
  victim.pause(up_to(kLong));
  return true;
}

bool SimChaos::pause_job_manager(SimProcess&) {
  if (cluster_.job_manager() == nullptr) return false;
  cluster_.job_manager()->pause(up_to(kLong));
  return true;
}

bool SimChaos::reset(SimProcess& victim) {
  const SimProcess* const peer = peer_of(victim);
  if (peer != nullptr) cluster_.world().network().reset(victim.id(), peer->id());
  return peer != nullptr;
}

bool SimChaos::clog(SimProcess& victim) {
  const SimProcess* const peer = peer_of(victim);
  if (peer != nullptr) cluster_.world().network().clog(victim.id(), peer->id(), up_to(kShort));
  return peer != nullptr;
}

bool SimChaos::hold(SimProcess& victim) {
  const SimProcess* const peer = peer_of(victim);
  if (peer == nullptr) return false;
  const bool towards = random_->one_in(2);
  const SimProcessId from = towards ? peer->id() : victim.id();
  const SimProcessId to = towards ? victim.id() : peer->id();
  return cluster_.world().network().hold(from, to, up_to(kHeld)) > 0;
}

bool SimChaos::split(SimProcess& victim) {
  const SimProcess* const peer = peer_of(victim);
  if (peer == nullptr) return false;
  SimNetwork& network = cluster_.world().network();
  SimEventQueue& queue = cluster_.world().queue();
  network.split(victim.id(), peer->id());
  queue.add(queue.now() + kSplit, 0, "heal",
            [&network, a = victim.id(), b = peer->id()] { network.heal(a, b); });
  return true;
}

bool SimChaos::reboot_host(SimProcess& victim) {
  cluster_.crash_host(victim, SimCluster::Disk::kComesBack);
  return true;
}

bool SimChaos::lose_host(SimProcess& victim) {
  cluster_.crash_host(victim, SimCluster::Disk::kIsLost);
  return true;
}

bool SimChaos::fill_disk(SimProcess& victim) {
  victim.host().disk.fill(up_to(kFull));
  return true;
}

bool SimChaos::file_server_failed_before() { return std::exchange(file_server_failed_, true); }

bool SimChaos::fill_file_server(SimProcess&) {
  if (file_server_failed_before()) return false;
  cluster_.world().shared().fill(up_to(kFull));
  return true;
}

bool SimChaos::refuse_operations(SimProcess&) {
  if (file_server_failed_before()) return false;
  constexpr FileOperation kOperations[] = {FileOperation::kCreate, FileOperation::kAppend,
                                           FileOperation::kSync, FileOperation::kRename};
  cluster_.world().shared().refuse(kOperations[random_->below(std::size(kOperations))], "",
                                   1 + random_->below(kRefusalsMax));
  return true;
}

bool SimChaos::stall_files(SimProcess& victim) {
  cluster_.stall_files(victim, up_to(kStalled));
  return true;
}

}  // namespace freshet::sim
