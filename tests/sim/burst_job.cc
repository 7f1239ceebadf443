#include <algorithm>

#include "runtime/connectors/file_sink.h"
#include "runtime/connectors/sequence.h"
#include "tests/sim/sim_job.h"

namespace freshet::sim {

namespace {

constexpr int64_t kBursts = 4;
constexpr int64_t kParcelsOfEach = 900;
constexpr size_t kParcelBytes = 1000;
constexpr int64_t kCustomers = 7;

struct Parcel {
  int64_t customer = 0;
  std::string content;
};

struct Weight {
  int64_t customer = 0;
  int64_t bytes = 0;
};

std::string content_of(int64_t parcel) {
  return std::string(kParcelBytes + static_cast<size_t>(parcel % 50), 'x');
}

std::string line_of(const Weight& weight) {
  return std::to_string(weight.customer) + ' ' + std::to_string(weight.bytes);
}

}  // namespace

SimJob burst_job(const std::string& output) {
  SimJob job{.name = "burst", .output = output};
  job.build.parallelism = 4;
  job.builder = [output](Environment& env) {
    env.from_source(sequence(0, kBursts - 1))
        .partition_custom([](int64_t burst, uint32_t subtasks) { return burst % subtasks; },
                          [](int64_t burst) { return burst; })  // One for each of them.
        .flat_map([](const int64_t&, Collector<Parcel>& out) {
          for (int64_t i = 0; i < kParcelsOfEach; ++i)
            out.collect(Parcel{i % kCustomers, content_of(i)});
        })
        .rebalance()
        .map([](const Parcel& parcel) {
          return Weight{parcel.customer, static_cast<int64_t>(parcel.content.size())};
        })
        .key_by(&Weight::customer)
        .sum(&Weight::bytes, Emit::final)
        .sink_to(file_sink<Weight>(
            output, [](const Weight& weight, std::string& line) { line += line_of(weight); }));
  };
  for (int64_t customer = 0; customer < kCustomers; ++customer) {
    Weight weight{customer, 0};
    for (int64_t i = customer; i < kParcelsOfEach; i += kCustomers)
      weight.bytes += kBursts * static_cast<int64_t>(content_of(i).size());
    job.expected.push_back(line_of(weight));
  }
  std::sort(job.expected.begin(), job.expected.end());
  return job;
}

}  // namespace freshet::sim
