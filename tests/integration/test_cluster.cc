#include "tests/integration/test_cluster.h"

#include <signal.h>

#include <sstream>

#include "runtime/base/check.h"

namespace freshet::testing {

std::string job_module(const std::string& name) {
  return std::string(FRESHET_JOBS) + "/" + name + ".so";
}

std::string test_job(const std::string& name) {
  return std::string(FRESHET_TEST_JOBS) + "/" + name + ".so";
}

TestCluster::TestCluster(const Options& options)
    : options_(options),
      base_(options.state_directory.empty() ? directory_.path() : options.state_directory),
      processes_(make_system_process_host()) {
  if (options_.supervised_here) return;
  std::vector<std::string> arguments = {
      "cluster",     "start", "--name",         options_.name,
      "--state-dir", base_,   "--taskmanagers", std::to_string(options_.task_managers)};
  if (options_.slots != 0) {
    arguments.insert(arguments.end(), {"--slots", std::to_string(options_.slots)});
  }
  arguments.insert(arguments.end(), options_.arguments.begin(), options_.arguments.end());
  started_ = run_freshet(arguments);
  state();
}

TestCluster::~TestCluster() {
  if (options_.supervised_here) return;
  stop();
  for (const auto& [pid, process] : seen_) processes_->send_signal(process, ProcessSignal::kKill);
}

Outcome TestCluster::stop() {
  state();
  return run_freshet({"cluster", "stop", "--name", options_.name, "--state-dir", base_});
}

ClusterState TestCluster::state() {
  const auto directory = ClusterDirectory::of(base_, options_.name);
  CHECK(directory.ok());
  auto state = read_cluster_state(*directory, *make_local_file_system());
  if (!state.ok()) return ClusterState();
  remember(*state);
  for (ClusterProcess& one : state->processes) one.running = processes_->alive(one.process);
  return *state;
}

void TestCluster::remember(const ClusterState& state) {
  seen_[state.supervisor.pid] = state.supervisor;
  for (const ClusterProcess& one : state.processes) seen_[one.process.pid] = one.process;
}

ClusterProcess TestCluster::process(const std::string& name) {
  const ClusterState now = state();
  const ClusterProcess* const found = now.find(name);
  return found == nullptr ? ClusterProcess() : *found;
}

int TestCluster::rest_port() const {
  const std::string status =
      run_freshet({"cluster", "status", "--name", name(), "--state-dir", state_directory()}).output;
  const std::string before = "REST API at http://127.0.0.1:";
  const size_t at = status.find(before);
  return at == status.npos ? 0 : std::stoi(status.substr(at + before.size()));
}

void TestCluster::kill(const std::string& name) {
  processes_->send_signal(process(name).process, ProcessSignal::kKill);
}

void TestCluster::signal(const std::string& name, int signal) {
  const ProcessIdentity target = process(name).process;
  if (processes_->alive(target)) ::kill(target.pid, signal);
}

std::vector<std::string> TestCluster::command(const std::string& command,
                                              std::vector<std::string> arguments) const {
  std::vector<std::string> all = {command, "--cluster", options_.name, "--state-dir", base_};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

Outcome TestCluster::run(std::vector<std::string> arguments, Duration timeout) const {
  return run_freshet(command("run", std::move(arguments)), timeout);
}

Outcome TestCluster::list() const { return run_freshet(command("list", {})); }

std::vector<JobLine> TestCluster::jobs() const {
  std::vector<JobLine> jobs;
  std::istringstream lines(list().output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    JobLine job;
    if (words >> job.id >> job.state >> job.tasks >> job.restarts >> job.records >> job.name)
      jobs.push_back(std::move(job));
  }
  return jobs;
}

std::string TestCluster::log(const std::string& process) const {
  return read_file(base_ + "/" + options_.name + "/" + process + ".log");
}

size_t TestCluster::count_in_log(const std::string& process, const std::string& text) const {
  const std::string all = log(process);
  size_t count = 0;
  for (size_t at = all.find(text); at != std::string::npos; at = all.find(text, at + 1)) count++;
  return count;
}

std::string TestCluster::output(const std::string& process) const {
  return read_file(base_ + "/" + options_.name + "/" + process + ".out");
}

}  // namespace freshet::testing
