#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "network/transport.h"
#include "runtime/base/ids.h"
#include "runtime/base/status.h"
#include "runtime/graph/job_graph.h"
#include "runtime/graph/job_module.h"
#include "shuffle/input_gate.h"

namespace freshet {

namespace proto {
class AttemptProto;
class DeployTasks;
class JobIdProto;
class JobInformation;
class StatusProto;
}  // namespace proto

/// What all tasks of one job share. Values copy.
struct JobInformation {
  JobId id;
  std::string name;
  std::string module_hash;
  BuildOptions build;
  uint64_t fingerprint = 0;
  std::shared_ptr<const JobGraph> graph;
};

/// Where the producers of one dataset are, for all consumers that read the same ones.
struct GateGroup {
  DatasetId dataset;
  std::vector<InputGate::ProducerLocation> locations;
  std::vector<InputGate::ProducerRange> producers;  // Contiguous, ascending.
  bool stored = false;                              // They have ended, and what they made is kept.

  /// The producers [begin, end) of it.
  std::vector<InputGate::ProducerRange> part(IndexRange) const;
};

struct TaskDeployment {
  AttemptId attempt;
  AllocationId allocation;
  uint32_t slot = 0;
  std::vector<uint32_t> groups;  // Index in Deployment::groups, one per input edge.
  std::vector<std::shared_ptr<const GateGroup>>
      gates;  // The same, covering all that it reads; of a Deployment that is whole.
};

/// A group that came with a deployment, or only its name.
struct NamedGroup {
  std::string hash;  // Empty: it has no name.
  std::shared_ptr<const GateGroup> group;
};

struct Deployment {
  JobInformation job;
  std::vector<NamedGroup> groups;
  std::vector<TaskDeployment> tasks;
  bool check = false;  // Operators are checked before their tasks start.

  /// Every group is there.
  bool is_whole() const;
  /// Gives the tasks their gates. The deployment is whole. kInvalidArgument when a task does not
  /// get what it reads.
  Status connect();
};

/// What a TaskManager has got before. Null for what it does not know.
struct KnownDescriptors {
  std::function<const JobInformation*(const JobId&)> job;
  std::function<std::shared_ptr<const GateGroup>(const JobId&, const std::string& hash)> group;
};

/// What came from the network, checked: everything that names something names something that
/// exists, but for groups that have to be fetched; without those it is connected. kInvalidArgument
/// otherwise. `slots`, `host_id`: of this TaskManager; Unix sockets of producers on other hosts are
/// left out.
Result<Deployment> parse_deployment(const proto::DeployTasks&, uint32_t slots,
                                    const std::string& host_id, const KnownDescriptors& = {});
/// The blob of a group that was named.
Result<std::shared_ptr<const GateGroup>> parse_group(const std::string& bytes, const JobGraph&,
                                                     const std::string& host_id);
Result<JobInformation> parse_job_information(const proto::JobInformation&);

JobId from_proto(const proto::JobIdProto&);
AttemptId from_proto(const proto::AttemptProto&);
Status from_proto(const proto::StatusProto&);
void to_proto(const JobId&, proto::JobIdProto*);
void to_proto(const AttemptId&, proto::AttemptProto*);
void to_proto(const Status&, proto::StatusProto*);

}  // namespace freshet
