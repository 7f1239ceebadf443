#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/sim/sim_event_queue.h"
#include "tests/sim/sim_faults.h"
#include "tests/sim/sim_file_system.h"
#include "tests/sim/sim_log.h"
#include "tests/sim/sim_network.h"
#include "tests/sim/sim_volume.h"

namespace freshet::sim {

class SimWorld;

/// A machine: its disk outlives its processes.
struct SimHost {
  SimHost(SimEventQueue& queue, std::string host_name)
      : name(std::move(host_name)), disk(queue, SimVolume::Names::kLate) {}

  /// Of the machine and its boot.
  std::string id() const { return name + " boot " + std::to_string(boot); }

  const std::string name;
  uint32_t boot = 1;
  SimVolume disk;
};

/// One start of a process, with everything that product code is handed in there. It lives until the
/// end of the world, also when it is dead: what it was made of is then abandoned, never destroyed,
/// for no destructor runs in a killed process.
class SimProcess final : public FaultVictim {
 public:
  SimProcess(SimWorld& world, SimHost& host, SimProcessId id, std::string name);
  ~SimProcess() override;
  SimProcess(const SimProcess&) = delete;
  SimProcess& operator=(const SimProcess&) = delete;

  SimProcessId id() const { return id_; }
  const std::string& name() const override { return name_; }
  SimHost& host() { return host_; }
  bool alive() const { return life_->alive; }

  /// A new thread.
  SimExecutor& add_executor();

  Transport& transport() { return *transport_; }
  FileSystem& file_system() { return *file_system_; }
  Clock& clock();
  Random& random() { return *random_; }
  Faults& faults() { return faults_; }

  /// Keeps the objects of the running program. Set once.
  void run(std::shared_ptr<void> program) { program_ = std::move(program); }

  /// As by kill -9: may be called in the middle of one of its own functions. Peers see resets.
  void crash() override;

  /// As by the loss of its machine: peers see nothing. See SimWorld::crash_host().
  void vanish();

  /// As by SIGSTOP and, later, SIGCONT.
  void pause(Duration duration) override;

  /// After an orderly shutdown by the program itself: destroys it and whatever still waits.
  void exit();

 private:
  struct Grave;

  void die(bool told);
  void bury();

  SimWorld& world_;
  SimHost& host_;
  const SimProcessId id_;
  const std::string name_;
  const std::shared_ptr<Liveness> life_ = std::make_shared<Liveness>();
  const std::unique_ptr<Random> random_;
  std::vector<std::unique_ptr<SimExecutor>> executors_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<FileSystem> file_system_;
  SimFaults faults_;
  std::shared_ptr<void> program_;
};

/// Hosts, processes, wires, faults and time of one simulation, all decided by one seed.
class SimWorld {
 public:
  /// `shared`: how the file server keeps names. Where it is late, it is the disk of the only host.
  explicit SimWorld(uint64_t seed, SimVolume::Names shared = SimVolume::Names::kDurable);
  ~SimWorld();

  SimHost& add_host(const std::string& name);

  /// Its processes are gone and nobody is told; what they had not synced, here and on the file
  /// server, is torn. The disk is there for the processes that are started next, as after a reboot,
  /// or is never seen again.
  void crash_host(SimHost& host);

  SimProcess& start_process(SimHost& host, const std::string& name);

  /// The file server that all hosts see.
  SimVolume& shared() { return shared_; }

  SimEventQueue& queue() { return queue_; }
  SimNetwork& network() { return network_; }
  SimFaultPlan& fault_plan() { return fault_plan_; }
  SimLog& log() { return log_; }
  const SimLog& log() const { return log_; }

  /// Every process that was started, in that order; dead ones too.
  const std::vector<std::unique_ptr<SimProcess>>& processes() const { return processes_; }

 private:
  SimEventQueue queue_;
  SimLog log_;
  SimNetwork network_;
  SimFaultPlan fault_plan_;
  SimVolume shared_;
  std::vector<std::unique_ptr<SimHost>> hosts_;
  std::vector<std::unique_ptr<SimProcess>> processes_;
  uint64_t next_process_ = 1;
};

}  // namespace freshet::sim
