#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "runtime/base/file_system.h"
#include "runtime/chaos/random_plan.h"
#include "tests/sim/plan_case.h"

namespace freshet::sim {

namespace {

constexpr char kUsage[] =
    "Jobs of the simulation, broken by plans; code 1: something did not hold, 2: not understood.\n"
    "  sim_soak --plan FILE --seed S --job NAME [--step-ms N]    one run, and what came of it\n"
    "  sim_soak --seed S --seeds N [--found DIRECTORY]           random jobs and plans of N "
    "seeds;\n"
    "                                          plans that fail are shrunk and kept in DIRECTORY\n"
    "  sim_soak --write-plan FILE --seed S [--task-managers N] [--span-ms N]\n"
    "                                          a random plan for real processes\n";
constexpr unsigned kSecondsMax = 300;  // Of one run, on a busy machine.
constexpr int kFailed = 1;
constexpr int kNotUnderstood = 2;

using Options = std::map<std::string, std::string>;

std::optional<Options> read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    if (!name.starts_with("--")) return std::nullopt;
    const size_t equals = name.find('=');
    if (equals != name.npos) {
      options[name.substr(2, equals - 2)] = name.substr(equals + 1);
    } else if (++i < argc) {
      options[name.substr(2)] = argv[i];
    } else {
      return std::nullopt;
    }
  }
  return options;
}

std::optional<uint64_t> number_of(const Options& options, const std::string& name,
                                  uint64_t otherwise) {
  const auto found = options.find(name);
  if (found == options.end()) return otherwise;
  const std::string& text = found->second;
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string describe(const PlanRun& run) {
  std::string text;
  for (const SimPlan::Outcome& outcome : run.faults) {
    text += fmt::format("{} {}{}\n", outcome.planned.to_string(),
                        outcome.fired ? "happened" : "did not happen",
                        outcome.victim.empty() ? "" : " to " + outcome.victim);
  }
  text += fmt::format("job {}, {} restarts, trace {:016x}\n", to_string(run.state), run.restarts,
                      run.trace_hash);
  for (const std::string& failure : run.failures) text += "FAILED: " + failure + "\n";
  return text;
}

/// In a process of its own, whose death is a finding like any other. Gives what it said, and
/// whether it failed.
std::pair<std::string, bool> run_apart(const PlanCase& one) {
  int ends[2];
  if (::pipe(ends) != 0) return {"no pipe\n", true};
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // Nobody would hear what it says.
    ::alarm(kSecondsMax);
    ::dup2(ends[1], STDERR_FILENO);  // What CHECK says.
    const PlanRun run = run_case(one);
    const std::string text = describe(run);
    for (size_t at = 0; at < text.size();) {
      const ssize_t written = ::write(ends[1], text.data() + at, text.size() - at);
      if (written <= 0) break;
      at += static_cast<size_t>(written);
    }
    ::_exit(run.failures.empty() ? 0 : kFailed);
  }
  ::close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(got));
  ::close(ends[0]);
  int state = 0;
  if (child < 0 || ::waitpid(child, &state, 0) != child) return {"no process\n", true};
  if (WIFSIGNALED(state)) text += fmt::format("FAILED: signal {}\n", WTERMSIG(state));
  return {text, !WIFEXITED(state) || WEXITSTATUS(state) != 0};
}

void write_file(const std::string& path, const std::string& text) {
  const Status written = make_local_file_system()->write_atomically(path, text);
  if (!written.ok()) std::fprintf(stderr, "%s\n", written.message().c_str());
}

/// Nullopt: its options are not understood.
std::optional<int> run_plan_file(const Options& options, uint64_t seed) {
  const std::string& path = options.at("plan");
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) {
    std::fprintf(stderr, "%s cannot be read\n", path.c_str());
    return kNotUnderstood;
  }
  const auto step_ms = number_of(options, "step-ms", 0);
  const auto name = options.find("job");
  PlanCase one{.job = name == options.end() ? "word_count" : name->second, .seed = seed};
  if (!step_ms) return std::nullopt;
  one.step_time = std::chrono::milliseconds(*step_ms);
  const auto expanded = [&]() -> Result<std::vector<chaos::PlannedFault>> {
    ASSIGN_OR_RETURN(const SimJob job, make_sim_job(one.job, seed));
    ASSIGN_OR_RETURN(const chaos::FaultPlan plan, chaos::parse_fault_plan(path, text.str()));
    return expand_for(plan, job, options_for_plan(seed, one.step_time));
  }();
  if (!expanded.ok()) {
    std::fprintf(stderr, "%s\n", expanded.status().message().c_str());
    return kNotUnderstood;
  }
  one.faults = *expanded;
  const auto [said, failed] = run_apart(one);
  std::printf("%s%s\n", said.c_str(), failed ? "FAILED" : "exactly once");
  return failed ? kFailed : 0;
}

/// What fails is made as small as possible.
void keep(const PlanCase& failed, const std::string& said, const std::string& directory) {
  const PlanCase least =
      shrink_case(failed, [](const PlanCase& fewer) { return run_apart(fewer).second; });
  const std::string path = fmt::format("{}/plan-{}.yaml", directory, failed.seed);
  write_file(path, plan_file_of(least, path));
  write_file(fmt::format("{}/plan-{}-all.yaml", directory, failed.seed),
             plan_file_of(failed, fmt::format("{}/plan-{}-all.yaml", directory, failed.seed)));
  write_file(fmt::format("{}/plan-{}.txt", directory, failed.seed),
             said + "\n-- With the least that fails --\n" + run_apart(least).first);
  std::printf("FAILED: %zu of %zu faults are enough: %s\n", least.faults.size(),
              failed.faults.size(), least.repeat(path).c_str());
  std::fflush(stdout);
}

std::optional<int> run_seeds(const Options& options, uint64_t seed) {
  const auto count = number_of(options, "seeds", 1);
  const auto found = options.find("found");
  if (!count) return std::nullopt;
  uint64_t failures = 0;
  for (uint64_t i = 0; i < *count; ++i) {
    const PlanCase one = random_case(seed + i);
    const auto [said, failed] = run_apart(one);
    if (!failed) continue;
    ++failures;
    keep(one, said, found == options.end() ? "." : found->second);
  }
  std::printf("%llu random plans, %llu failed\n", static_cast<unsigned long long>(*count),
              static_cast<unsigned long long>(failures));
  return failures > 0 ? kFailed : 0;
}

std::optional<int> write_plan(const Options& options, uint64_t seed) {
  const auto task_managers = number_of(options, "task-managers", 3);
  const auto span_ms = number_of(options, "span-ms", 10'000);
  if (!task_managers || !span_ms || *task_managers == 0 || *span_ms == 0) return std::nullopt;
  chaos::ClusterShape shape;
  shape.task_managers = static_cast<uint32_t>(*task_managers);
  chaos::PlanBudget budget;
  budget.faults_max = 4;
  budget.span = std::chrono::milliseconds(*span_ms);
  budget.outage_max = 2s;
  write_file(options.at("write-plan"),
             to_text(random_fault_plan(*make_seeded_random(seed), shape, budget)));
  return 0;
}

int run(int argc, char** argv) {
  const auto options = read_options(argc, argv);
  const auto seed = options ? number_of(*options, "seed", 1) : std::nullopt;
  std::optional<int> code;
  if (seed && options->contains("plan")) code = run_plan_file(*options, *seed);
  if (seed && options->contains("seeds")) code = run_seeds(*options, *seed);
  if (seed && options->contains("write-plan")) code = write_plan(*options, *seed);
  if (!code) std::fputs(kUsage, stderr);
  return code.value_or(kNotUnderstood);
}

}  // namespace
}  // namespace freshet::sim

int main(int argc, char** argv) { return freshet::sim::run(argc, argv); }
