#include <algorithm>

#include "runtime/connectors/file_sink.h"
#include "runtime/connectors/sequence.h"
#include "tests/sim/sim_job.h"

namespace freshet::sim {

namespace {

constexpr int64_t kLines = 400;
constexpr size_t kLineBytes = 1000;

std::string line_of(int64_t number) {
  return std::to_string(number) + ' ' + std::string(kLineBytes, 'x');
}

}  // namespace

SimJob bulk_job(const std::string& output) {
  SimJob job{.name = "bulk", .output = output};
  job.build.parallelism = 4;
  job.builder = [output](Environment& env) {
    env.from_source(sequence(0, kLines - 1))
        .rebalance()
        .sink_to(file_sink<int64_t>(
            output, [](const int64_t& number, std::string& line) { line += line_of(number); }));
  };
  for (int64_t number = 0; number < kLines; ++number) job.expected.push_back(line_of(number));
  std::sort(job.expected.begin(), job.expected.end());
  return job;
}

}  // namespace freshet::sim
