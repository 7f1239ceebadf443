#include <fmt/format.h>

#include "tests/sim/sim_job.h"

namespace freshet::sim {

namespace {

constexpr std::string_view kBatch = "_batch";

struct NamedJob {
  const char* name;
  std::function<SimJob(uint64_t seed)> make;
};

const std::vector<NamedJob>& jobs() {
  static const std::vector<NamedJob> all = {
      {"word_count", [](uint64_t) { return word_count_job(); }},
      {"ledger", [](uint64_t) { return ledger_job(); }},
      {"bulk", [](uint64_t) { return bulk_job(); }},
      {"burst", [](uint64_t) { return burst_job(); }},
      {"graph", [](uint64_t seed) { return random_graph_job(seed); }},
      {"exchanges", [](uint64_t seed) { return random_exchanges_job(seed); }},
  };
  return all;
}

}  // namespace

std::vector<std::string> sim_job_names() {
  std::vector<std::string> names;
  for (const NamedJob& job : jobs()) {
    names.emplace_back(job.name);
    names.push_back(job.name + std::string(kBatch));
  }
  return names;
}

Result<SimJob> make_sim_job(const std::string& name, uint64_t seed) {
  for (const NamedJob& job : jobs()) {
    if (name == job.name) return job.make(seed);
    if (name == job.name + std::string(kBatch)) return in_batch(job.make(seed));
  }
  std::string names;
  for (const std::string& one : sim_job_names()) names += " " + one;
  return invalid_argument(
      fmt::format("no simulated job is called '{}'; there are:{}", name, names));
}

}  // namespace freshet::sim
