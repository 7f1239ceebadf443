#include "runtime/chaos/chaos_cluster.h"

#include <fmt/format.h>

#include "runtime/app/host_id.h"
#include "runtime/app/port_file.h"
#include "runtime/app/private_directory.h"
#include "runtime/base/log.h"

namespace freshet::chaos {

namespace {

constexpr Duration kPoll = 2ms;
constexpr uint64_t kLogBytesMax = 64u << 20;
constexpr size_t kTailLines = 5;
constexpr uint64_t kPortFileBytesMax = 4096;

std::string tail_of(const std::string& text) {
  size_t begin = text.size();
  for (size_t lines = 0; begin > 0; --begin) {
    if (text[begin - 1] == '\n' && begin != text.size() && ++lines == kTailLines) break;
  }
  return text.substr(begin);
}

}  // namespace

ChaosCluster::ChaosCluster(const Options& options, ClusterDirectory directory,
                           ProcessHost& processes, FileSystem& files, const Clock& clock,
                           SignalWaiter& signals)
    : directory_(std::move(directory)),
      task_managers_(options.task_managers),
      processes_(processes),
      files_(files),
      clock_(clock),
      signals_(signals),
      reporter_(options.secret, host_id(files), clock),
      supervisor_(std::make_unique<ClusterSupervisor>(supervisor_options(options), directory_,
                                                      boot_id(files), processes, files, clock)) {}

ClusterSupervisor::Options ChaosCluster::supervisor_options(const Options& options) {
  ClusterSupervisor::Options result;
  result.program = options.program;
  result.task_managers = options.task_managers;
  result.slots = options.slots;
  result.control = Address{"127.0.0.1", 0};
  result.arguments = options.settings;
  result.arguments.push_back("--no-config");
  result.environment = options.environment;
  result.restart_wait_max = Duration(0);
  result.on_task_manager_ended = [this](const Address& job_manager, const ProcessExit& exit) {
    reporter_.report(job_manager, exit);
  };
  result.on_started = [this](const ClusterSupervisor::MemberLife& life) {
    lives_.push_back({life.name, life.process, life.number, life.started, std::nullopt, ""});
  };
  result.on_ended = [this](const ClusterSupervisor::MemberLife& ended, const ProcessExit& exit) {
    for (Life& life : lives_) {
      if (life.process != ended.process) continue;
      life.ended = clock_.now();
      life.how = exit.how;
    }
  };
  if (options.install) options.install(result);
  return result;
}

Result<std::unique_ptr<ChaosCluster>> ChaosCluster::start(const Options& options,
                                                          ProcessHost& processes, FileSystem& files,
                                                          const Clock& clock,
                                                          SignalWaiter& signals) {
  const size_t slash = options.directory.rfind('/');
  ASSIGN_OR_RETURN(auto directory, ClusterDirectory::of(options.directory.substr(0, slash),
                                                        options.directory.substr(slash + 1)));
  RETURN_IF_ERROR(make_private_directory(options.directory));
  std::unique_ptr<ChaosCluster> cluster(
      new ChaosCluster(options, std::move(directory), processes, files, clock, signals));
  RETURN_IF_ERROR(cluster->wait_until_ready(options));
  return cluster;
}

Status ChaosCluster::wait_until_ready(const Options& options) {
  const TimePoint deadline = clock_.now() + options.start_patience;
  while (!supervisor_->ready()) {
    const Status status = supervisor_->step();
    if (!status.ok()) return unavailable(status.message() + log_tails());
    if (clock_.now() > deadline)
      return unavailable(fmt::format("the cluster did not come up within {}{}",
                                     format_duration(options.start_patience), log_tails()));
    if (supervisor_->ready()) break;
    const auto signal = signals_.wait(kPoll);
    if (signal && *signal != SignalWaiter::Signal::kChild) return aborted("interrupted");
  }
  return read_job_manager();
}

Status ChaosCluster::read_job_manager() {
  ASSIGN_OR_RETURN(
      const std::string text,
      files_.read_all(directory_.port_file_of(std::string(kJobManagerName)), kPortFileBytesMax));
  ASSIGN_OR_RETURN(const PortFile ports, parse_port_file(text));
  job_manager_ = ports.address;
  return Status();
}

std::string ChaosCluster::log_tails() const {
  std::string text;
  for (const std::string& name : names()) {
    const auto log = files_.read_all(directory_.log_of(name), kLogBytesMax);
    const auto output = files_.read_all(directory_.output_of(name), kLogBytesMax);
    const std::string tail = tail_of(log.ok() ? *log : "") + tail_of(output.ok() ? *output : "");
    if (!tail.empty()) text += fmt::format("\n{}:\n{}", name, tail);
  }
  return text;
}

std::vector<std::string> ChaosCluster::names() const {
  std::vector<std::string> result = {std::string(kJobManagerName)};
  for (uint32_t i = 1; i <= task_managers_; i++) result.push_back(task_manager_name(i));
  return result;
}

void ChaosCluster::step() {
  const Status status = supervisor_->step();
  if (!status.ok()) LOG_ERROR("chaos_cluster_failed", {{"cause", status}});
}

const ChaosCluster::Life* ChaosCluster::life_of(const std::string& name) const {
  for (auto life = lives_.rbegin(); life != lives_.rend(); ++life) {
    if (life->name == name) return life->ended ? nullptr : &*life;
  }
  return nullptr;
}

bool ChaosCluster::signal(const std::string& name, ProcessSignal signal) {
  const Life* const life = life_of(name);
  if (life == nullptr || !processes_.alive(life->process)) return false;
  processes_.send_signal(life->process, signal);
  return true;
}

void ChaosCluster::end_processes() {
  supervisor_->stop();
  const TimePoint deadline = clock_.now() + ClusterSupervisor::kStopPatience + 2s;
  while (!supervisor_->ended() && clock_.now() < deadline) {
    static_cast<void>(supervisor_->step());
    if (!supervisor_->ended()) static_cast<void>(signals_.wait(kPoll));
  }
}

ChaosCluster::~ChaosCluster() {
  end_processes();
  if (keep_files_) return;
  if (const Status removed = files_.remove_all(directory_.path()); !removed.ok())
    LOG_WARN("chaos_files_left", {{"cause", removed}});
}

}  // namespace freshet::chaos
