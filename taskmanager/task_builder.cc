#include "taskmanager/task_builder.h"

#include "runtime/base/configuration.h"
#include "runtime/operators/edge_type_of.h"

namespace freshet {

namespace {

bool channel_hash_of(const JobInformation& job, bool otherwise) {
  const auto& settings = job.build.configuration;
  const auto found = settings.find(std::string(config::kChannelHash.name));
  return found == settings.end() ? otherwise : found->second == "true";
}

/// Everything that is made for one task; released again unless the task takes it.
struct Channels {
  std::vector<std::shared_ptr<InputGate>> gates;
  std::vector<std::vector<InputGate::ProducerRange>> producers;  // Of these.
  std::vector<std::shared_ptr<ResultPartition>> partitions;

  void release() {
    for (const auto& gate : gates) gate->release();
    for (const auto& partition : partitions) partition->release();
  }
};

/// Without what the types of its elements decide.
ResultPartition::Options partition_options(const JobInformation& job, const AttemptId& attempt,
                                           DatasetId dataset) {
  const JobGraph& graph = *job.graph;
  const JobEdge& edge = graph.edges[dataset.value];
  ResultPartition::Options options;
  options.job = job.id;
  options.dataset = dataset;
  options.producer = attempt.subtask.index;
  options.attempt = attempt.attempt;
  options.subpartitions = consumers_of_producer(edge.partitioning, attempt.subtask.index,
                                                graph.vertices[edge.producer.value].parallelism,
                                                graph.vertices[edge.consumer.value].parallelism)
                              .size();
  options.blocking = edge.exchange == Exchange::kBlocking && !edge.feedback;
  return options;
}

Status create_partitions(const JobInformation& job, const BuiltJob& built,
                         const TaskDeployment& deployment, bool hash,
                         const std::function<void()>& wake, ShuffleEnvironment& shuffle,
                         Channels& channels) {
  const JobGraph& graph = *job.graph;
  for (DatasetId dataset : graph.outputs_of(deployment.attempt.subtask.vertex)) {
    ASSIGN_OR_RETURN(const auto type, edge_type_of(built, graph.edges[dataset.value]));
    ResultPartition::Options options = partition_options(job, deployment.attempt, dataset);
    options.fixed_record_size = type->fixed_size();
    options.hash = hash;
    options.wake = wake;
    ASSIGN_OR_RETURN(auto partition, shuffle.create_partition(options));
    channels.partitions.push_back(std::move(partition));
  }
  return Status();
}

/// A consumer has the same place in the share of each producer that it reads.
uint32_t subpartition_of(const JobEdge& edge, const JobGraph& graph, uint32_t consumer,
                         IndexRange producers) {
  const IndexRange consumers = consumers_of_producer(
      edge.partitioning, producers.begin, graph.vertices[edge.producer.value].parallelism,
      graph.vertices[edge.consumer.value].parallelism);
  return consumer - consumers.begin;
}

/// The same, of its i-th gate.
InputGate::Options gate_options(const JobInformation& job, const TaskDeployment& deployment,
                                DatasetId dataset, size_t i) {
  const AttemptId& attempt = deployment.attempt;
  const JobGraph& graph = *job.graph;
  const JobEdge& edge = graph.edges[dataset.value];
  const IndexRange producers = producers_of_consumer(
      edge.partitioning, attempt.subtask.index, graph.vertices[edge.producer.value].parallelism,
      graph.vertices[edge.consumer.value].parallelism);
  InputGate::Options options;
  options.job = job.id;
  options.dataset = dataset;
  options.consumer = attempt;
  options.subpartition = subpartition_of(edge, graph, attempt.subtask.index, producers);
  options.locations = deployment.gates[i]->locations;
  options.producers = deployment.gates[i]->part(producers);
  options.blocking = edge.exchange == Exchange::kBlocking;
  options.stored = deployment.gates[i]->stored;
  return options;
}

Status create_gates(const JobInformation& job, const BuiltJob& built,
                    const TaskDeployment& deployment, bool hash, const std::function<void()>& wake,
                    const std::function<void(const AttemptId&, const ChannelLoss&)>& on_loss,
                    ShuffleEnvironment& shuffle, Channels& channels) {
  const AttemptId& attempt = deployment.attempt;
  const JobGraph& graph = *job.graph;
  const std::vector<DatasetId> inputs = graph.inputs_of(attempt.subtask.vertex);
  for (size_t i = 0; i < inputs.size(); i++) {
    ASSIGN_OR_RETURN(const auto type, edge_type_of(built, graph.edges[inputs[i].value]));
    InputGate::Options options = gate_options(job, deployment, inputs[i], i);
    options.fixed_record_size = type->fixed_size();
    options.hash = hash;
    options.wake = wake;
    options.on_loss = [attempt, on_loss](const ChannelLoss& loss) { on_loss(attempt, loss); };
    ASSIGN_OR_RETURN(auto gate, shuffle.create_gate(options));
    channels.gates.push_back(std::move(gate));
    channels.producers.push_back(std::move(options.producers));
  }
  return Status();
}

void record(TaskRecorder& recorder, const AttemptId& attempt, Channels& channels) {
  for (uint32_t i = 0; i < channels.gates.size(); i++) {
    channels.gates[i] =
        recorder.record(attempt, i, channels.producers[i], std::move(channels.gates[i]));
  }
  for (uint32_t i = 0; i < channels.partitions.size(); i++) {
    channels.partitions[i] = recorder.record(attempt, i, std::move(channels.partitions[i]));
  }
}

}  // namespace

BufferNeed buffer_need(const JobInformation& job, const TaskDeployment& deployment,
                       const ShuffleEnvironment& shuffle) {
  const AttemptId& attempt = deployment.attempt;
  BufferNeed need;
  for (const DatasetId dataset : job.graph->outputs_of(attempt.subtask.vertex))
    need += shuffle.need_of(partition_options(job, attempt, dataset));
  const std::vector<DatasetId> inputs = job.graph->inputs_of(attempt.subtask.vertex);
  for (size_t i = 0; i < inputs.size(); i++)
    need += shuffle.need_of(gate_options(job, deployment, inputs[i], i));
  return need;
}

Result<std::shared_ptr<StreamTask>> build_task(
    const JobInformation& job, std::shared_ptr<const BuiltJob> built,
    const TaskDeployment& deployment, std::shared_ptr<TaskListener> listener,
    std::function<void(const AttemptId&, const ChannelLoss&)> on_loss,
    const TaskBuilderEnvironment& environment) {
  const AttemptId& attempt = deployment.attempt;
  ASSIGN_OR_RETURN(OperatorMemory memory,
                   operator_memory(*job.graph, *built, attempt.subtask.vertex, environment.slots,
                                   environment.memory));
  DecisionLog* log = nullptr;
  FileSystem* files = &environment.files;
  if (environment.recorder != nullptr) {
    log = environment.recorder->decision_log(attempt, job.build.configuration);
    files = &environment.recorder->record(attempt, *files);
  }
  auto task = std::make_shared<StreamTask>(
      StreamTask::Options{attempt, job.graph, built, job.build.configuration},
      StreamTask::Environment{environment.clock, *files, environment.faults, std::move(listener),
                              std::move(memory)},
      std::make_unique<LiveDecisions>(environment.clock, environment.random.fork(), log));
  const std::function<void()> wake = [weak = std::weak_ptr<RunnableTask>(task),
                                      &tasks = environment.tasks] {
    if (const auto self = weak.lock()) tasks.wake(self);
  };
  const bool hash = channel_hash_of(job, environment.channel_hash);
  Channels channels;
  Status status =
      create_partitions(job, *built, deployment, hash, wake, environment.shuffle, channels);
  if (status.ok())
    status =
        create_gates(job, *built, deployment, hash, wake, on_loss, environment.shuffle, channels);
  if (!status.ok()) {
    channels.release();
    return status;
  }
  if (environment.recorder != nullptr) record(*environment.recorder, attempt, channels);
  task->connect(std::move(channels.gates), std::move(channels.partitions));
  return task;
}

}  // namespace freshet
