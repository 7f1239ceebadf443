#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "runtime/base/random.h"
#include "tests/sim/sim_cluster.h"

namespace freshet::sim {

/// Breaks things of a cluster at random moments, all of which heal: processes and hosts crash and
/// are replaced, are paused for less and for more than a heartbeat timeout, connections are reset,
/// held back, overtaken by newer ones and split, disks are full, stand still, or answer errors.
class SimChaos {
 public:
  explicit SimChaos(SimCluster& cluster);

  /// `count` things in the next `span`.
  void start(uint32_t count, Duration span);

  /// What was done, by name; a thing that met nobody is not counted.
  const std::map<std::string, uint64_t>& done() const { return done_; }
  uint64_t done_count() const;

  /// Every name that done() may have.
  static std::vector<std::string> kinds();

 private:
  struct Kind {
    const char* name;
    bool (SimChaos::*break_it)(SimProcess& victim);  // False: it did not come to it.
  };
  static const std::vector<Kind>& table();

  void break_one_thing();
  SimProcess* peer_of(const SimProcess& victim);
  Duration up_to(Duration longest);
  bool file_server_failed_before();

  bool crash(SimProcess& victim);
  bool pause(SimProcess& victim);
  bool make_zombie(SimProcess& victim);
  bool pause_job_manager(SimProcess& victim);
  bool reset(SimProcess& victim);
  bool clog(SimProcess& victim);
  bool hold(SimProcess& victim);
  bool split(SimProcess& victim);
  bool reboot_host(SimProcess& victim);
  bool lose_host(SimProcess& victim);
  bool fill_disk(SimProcess& victim);
  bool fill_file_server(SimProcess& victim);
  bool refuse_operations(SimProcess& victim);
  bool stall_files(SimProcess& victim);

  SimCluster& cluster_;
  const std::unique_ptr<Random> random_;
  std::map<std::string, uint64_t> done_;
  bool file_server_failed_ = false;  // Once in a run: publishing is tried five times.
};

}  // namespace freshet::sim
