#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/base/random.h"
#include "runtime/connectors/file_sink.h"
#include "runtime/connectors/sequence.h"
#include "tests/sim/sim_job.h"

namespace freshet::sim {

namespace {

constexpr int64_t kKeys = 13;
constexpr int64_t kValuesEnd = 100'003;

enum class Work { kMap, kFilter, kTwice };

struct Input {
  size_t stream = 0;
  std::optional<Partitioning> how;     // None: as the API decides.
  std::optional<Exchange> exchange{};  // Likewise.
};

struct Step {
  Work work = Work::kMap;
  int64_t factor = 1;
  uint32_t parallelism = 1;
  std::vector<Input> inputs;
};

/// Streams are numbered: first the sources, then what the steps make.
struct Plan {
  std::vector<int64_t> sources;  // How many numbers each gives.
  std::vector<Step> steps;
  std::vector<size_t> ends;  // Streams that no step reads.
};

Plan make_plan(uint64_t seed) {
  const auto random = make_seeded_random(seed);
  const std::vector<std::optional<Partitioning>> hows = {
      std::nullopt,           Partitioning::kRebalance, Partitioning::kRescale,
      Partitioning::kShuffle, Partitioning::kBroadcast, Partitioning::kGlobal};
  Plan plan;
  const uint64_t sources = 1 + random->below(3);
  for (uint64_t i = 0; i < sources; ++i)
    plan.sources.push_back(static_cast<int64_t>(random->below(80)));
  std::vector<bool> read(sources, false);
  uint32_t broadcasts_left = 2;  // They multiply.
  for (uint64_t steps = 1 + random->below(4); steps > 0; --steps) {
    Step step;
    step.work = static_cast<Work>(random->below(3));
    step.factor = static_cast<int64_t>(2 + random->below(5));
    step.parallelism = static_cast<uint32_t>(1 + random->below(4));
    for (size_t stream = 0; stream < read.size(); ++stream) {
      if (!random->one_in(2) && stream + 1 < read.size()) continue;
      std::optional<Partitioning> how = hows[random->below(hows.size())];
      if (how == Partitioning::kBroadcast && broadcasts_left-- == 0) {
        broadcasts_left = 0;
        how = Partitioning::kRebalance;
      }
      step.inputs.push_back({stream, how});
      read[stream] = true;
    }
    plan.steps.push_back(std::move(step));
    read.push_back(false);
  }
  for (size_t stream = 0; stream < read.size(); ++stream) {
    if (!read[stream]) plan.ends.push_back(stream);
  }
  return plan;
}

/// By chance, in half of the cases.
void choose_exchanges(uint64_t seed, Plan* plan) {
  const auto random = make_seeded_random(seed + 77'000);
  for (Step& step : plan->steps) {
    for (Input& input : step.inputs) {
      if (random->one_in(2)) continue;
      input.exchange = random->one_in(2) ? Exchange::kBlocking : Exchange::kPipelined;
    }
  }
}

DataStream<int64_t> spread(const DataStream<int64_t>& stream, std::optional<Partitioning> how) {
  if (!how) return stream;
  switch (*how) {
    case Partitioning::kRebalance:
      return stream.rebalance();
    case Partitioning::kRescale:
      return stream.rescale();
    case Partitioning::kShuffle:
      return stream.shuffle();
    case Partitioning::kBroadcast:
      return stream.broadcast();
    default:
      return stream.global();
  }
}

int64_t changed(int64_t value, int64_t factor) { return (value * factor + 1) % kValuesEnd; }

DataStream<int64_t> apply(const DataStream<int64_t>& from, const Step& step) {
  const int64_t factor = step.factor;
  switch (step.work) {
    case Work::kMap:
      return from.map([factor](const int64_t& value) { return changed(value, factor); });
    case Work::kFilter:
      return from.filter([factor](const int64_t& value) { return value % factor != 0; });
    case Work::kTwice:
      break;
  }
  return from.flat_map([factor](const int64_t& value, Collector<int64_t>& out) {
    out.collect(value);
    out.collect(changed(value, factor));
  });
}

struct Sum {
  int64_t key = 0;
  int64_t count = 0;
  int64_t sum = 0;
};

std::string line_of(const Sum& sum) {
  return std::to_string(sum.key) + ' ' + std::to_string(sum.count) + ' ' + std::to_string(sum.sum);
}

DataStream<int64_t> united(const std::vector<DataStream<int64_t>>& streams) {
  DataStream<int64_t> all = streams.front();
  for (size_t i = 1; i < streams.size(); ++i) all = all.union_with(streams[i]);
  return all;
}

void build(const Plan& plan, Environment& env) {
  std::vector<DataStream<int64_t>> streams;
  for (int64_t count : plan.sources) streams.push_back(env.from_source(sequence(1, count)));
  for (const Step& step : plan.steps) {
    std::vector<DataStream<int64_t>> inputs;
    for (const Input& input : step.inputs) {
      DataStream<int64_t> stream = spread(streams[input.stream], input.how);
      inputs.push_back(input.exchange ? stream.exchange(*input.exchange) : stream);
    }
    streams.push_back(apply(united(inputs), step).set_parallelism(step.parallelism));
  }
  std::vector<DataStream<int64_t>> ends;
  for (size_t stream : plan.ends) ends.push_back(streams[stream]);
  united(ends)
      .map([](const int64_t& value) {
        return Sum{value % kKeys, 1, value};
      })
      .key_by(&Sum::key)
      .reduce(
          [](Sum& so_far, const Sum& one) {
            so_far.count += one.count;
            so_far.sum += one.sum;
          },
          Emit::final)
      .sink_to(file_sink<Sum>("/shared/out",
                              [](const Sum& sum, std::string& line) { line += line_of(sum); }));
}

using Values = std::vector<int64_t>;

Values model_of(const Step& step, const std::vector<Values>& streams) {
  Values result;
  for (const Input& input : step.inputs) {
    const uint32_t times = input.how == Partitioning::kBroadcast ? step.parallelism : 1;
    for (int64_t value : streams[input.stream]) {
      for (uint32_t i = 0; i < times; ++i) {
        const bool kept =
            step.work == Work::kFilter ? value % step.factor != 0 : step.work == Work::kTwice;
        if (kept) result.push_back(value);
        if (step.work != Work::kFilter) result.push_back(changed(value, step.factor));
      }
    }
  }
  return result;
}

std::vector<std::string> model(const Plan& plan) {
  std::vector<Values> streams;
  for (int64_t count : plan.sources) {
    streams.emplace_back();
    for (int64_t value = 1; value <= count; ++value) streams.back().push_back(value);
  }
  for (const Step& step : plan.steps) streams.push_back(model_of(step, streams));
  std::map<int64_t, Sum> sums;
  for (size_t stream : plan.ends) {
    for (int64_t value : streams[stream]) {
      Sum& sum = sums[value % kKeys];
      sum = Sum{value % kKeys, sum.count + 1, sum.sum + value};
    }
  }
  std::vector<std::string> lines;
  for (const auto& [key, sum] : sums) lines.push_back(line_of(sum));
  std::sort(lines.begin(), lines.end());
  return lines;
}

}  // namespace

namespace {

SimJob job_of(const Plan& plan) {
  SimJob job{.name = "graph", .builder = [plan](Environment& env) { build(plan, env); }};
  job.build.parallelism = 4;
  job.expected = model(plan);
  return job;
}

}  // namespace

SimJob random_graph_job(uint64_t seed) { return job_of(make_plan(seed)); }

SimJob random_exchanges_job(uint64_t seed) {
  Plan plan = make_plan(seed);
  choose_exchanges(seed, &plan);
  return job_of(plan);
}

SimJob in_batch(SimJob job) {
  job.name += "_batch";
  job.build.mode = RuntimeMode::kBatch;
  return job;
}

}  // namespace freshet::sim
