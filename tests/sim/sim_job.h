#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/api/environment.h"
#include "runtime/base/status.h"
#include "runtime/graph/job_module.h"
#include "runtime/operators/operator.h"

namespace freshet::sim {

/// A job, and what it must write: by a short model that uses none of our code.
struct SimJob {
  std::string name;
  std::function<void(Environment&)> builder = {};
  BuildOptions build = {};
  std::map<std::string, std::string> inputs = {};  // Content of files by path.
  std::string output = "/shared/out";              // Directory.
  std::vector<std::string> expected = {};          // All lines of the output, sorted.
};

/// Words of text files, counted.
SimJob word_count_job(const std::string& output = "/shared/out");

/// Long lines: more than a file sink holds back, so that its files grow while the job runs.
SimJob bulk_job(const std::string& output = "/shared/out");

/// A few elements each of which becomes more than its task may hold: channels run out of credit,
/// and what is behind is spilled.
SimJob burst_job(const std::string& output = "/shared/out");

/// What the ledger's stamps are made of: something that may differ in another execution.
using Stamp = std::function<int64_t(OperatorContext&)>;

/// The task's clock and chance, as operators should use them.
int64_t honest_stamp(OperatorContext& context);

/// Two sources of one type of its own, united by a rebalanced and a broadcast edge, summed by a
/// keyed function that emits at its end. Every record carries a stamp, which does not influence the
/// result.
SimJob ledger_job(Stamp stamp = honest_stamp, const std::string& output = "/shared/out");

/// Sources, operators, partitionings and parallelisms by chance.
SimJob random_graph_job(uint64_t seed);
/// The same with blocking and pipelined exchanges by chance.
SimJob random_exchanges_job(uint64_t seed);

/// As a batch job.
SimJob in_batch(SimJob job);

/// What make_sim_job() makes: all of the above, also in batch.
std::vector<std::string> sim_job_names();
/// kInvalidArgument names what there is. Only graphs differ by the seed.
Result<SimJob> make_sim_job(const std::string& name, uint64_t seed);

}  // namespace freshet::sim
