#include "tests/unit/task/test_job.h"

#include <algorithm>

#include "runtime/base/hash.h"

namespace freshet::task_test {

namespace {

class NumberReader final : public RecordReader {
 public:
  void read(std::string_view bytes, EpochMillis timestamp, RecordReceiver& to) override {
    Decoder decoder(bytes);
    const uint64_t number = decoder.read_fixed<uint64_t>();
    if (decoder.remaining() != 0) throw CodecError("bytes are left over");
    to.receive(&number, timestamp);
  }
};

class FunctionFactory final : public OperatorFactory {
 public:
  FunctionFactory(MakeFunctions make, bool source) : make_(std::move(make)), source_(source) {}
  std::unique_ptr<Operator> make() const override {
    return std::make_unique<FunctionOperator>(make_());
  }
  bool is_source() const override { return source_; }

 private:
  const MakeFunctions make_;
  const bool source_;
};

class TestBuiltJob final : public BuiltJob {
 public:
  explicit TestBuiltJob(const TestJob::Options& options) : type_(options.type) {
    for (size_t i = 0; i < options.operators.size(); i++) {
      factories_[OperatorId{10 + i}] =
          std::make_shared<FunctionFactory>(options.operators[i], options.source && i == 0);
    }
  }
  const std::string& name() const override { return name_; }
  const LogicalGraph& graph() const override { return graph_; }
  std::shared_ptr<const OperatorFactory> operator_factory(OperatorId id) const override {
    const auto found = factories_.find(id);
    return found == factories_.end() ? nullptr : found->second;
  }
  std::shared_ptr<const EdgeType> edge_type(OperatorId, uint32_t, OperatorId,
                                            uint32_t) const override {
    return type_;
  }

 private:
  const std::string name_ = "test";
  const LogicalGraph graph_;
  const std::shared_ptr<const EdgeType> type_;
  std::map<OperatorId, std::shared_ptr<const OperatorFactory>> factories_;
};

JobVertex make_vertex(uint32_t id, uint32_t parallelism) {
  JobVertex vertex;
  vertex.id = VertexId{id};
  vertex.parallelism = parallelism;
  vertex.operators.push_back({OperatorId{id + 1}, "neighbour", "", false, false, {}});
  return vertex;
}

JobVertex make_middle(const TestJob::Options& options, DatasetId output) {
  JobVertex vertex;
  vertex.id = kMiddle;
  vertex.parallelism = 1;
  for (size_t i = 0; i < options.operators.size(); i++) {
    ChainedOperator chained;
    chained.id = OperatorId{10 + i};
    chained.name = "operator-" + std::to_string(i);
    ChainedOutput to;
    to.chained = i + 1 < options.operators.size();
    to.chained_operator = static_cast<uint32_t>(i + 1);
    to.dataset = output;
    chained.outputs.push_back(to);
    chained.sink = options.ends_in_sink && i + 1 == options.operators.size();
    vertex.operators.push_back(chained);
  }
  return vertex;
}

}  // namespace

std::unique_ptr<RecordReader> NumberType::make_reader() const {
  return std::make_unique<NumberReader>();
}

uint64_t NumberType::key_hash(const void* record, Encoder& scratch) const {
  scratch.start(nullptr, nullptr);
  encode(record, scratch);
  return hash_key(scratch.bytes());
}

uint32_t NumberType::target(const void* record, uint32_t) const {
  return static_cast<uint32_t>(*static_cast<const uint64_t*>(record));
}

void FunctionOperator::open(OperatorContext& context, std::vector<RecordReceiver*> outputs) {
  context_ = &context;
  if (!outputs.empty()) output_ = outputs[0];
  if (functions_.open) functions_.open(context, *output_);
}
void FunctionOperator::process(uint32_t, const void* record, EpochMillis) {
  if (functions_.process)
    functions_.process(*static_cast<const uint64_t*>(record), *context_, *output_);
}
void FunctionOperator::on_watermark(EpochMillis watermark) {
  if (functions_.on_watermark) functions_.on_watermark(watermark);
}
void FunctionOperator::end_input(uint32_t input) {
  if (functions_.end_input) functions_.end_input(input, *output_);
}
bool FunctionOperator::finish() {
  return functions_.finish ? functions_.finish(*context_, *output_) : true;
}
void FunctionOperator::close() {
  if (functions_.close) functions_.close();
}
PollResult FunctionOperator::poll(uint32_t records_max) {
  return functions_.poll ? functions_.poll(records_max, *context_, *output_) : PollResult::kEnded;
}

TestJob TestJob::make(const Options& options) {
  JobGraph graph;
  const DatasetId in{0};
  const DatasetId out{options.with_input ? 1u : 0u};
  graph.vertices = {make_vertex(0, options.producers), make_middle(options, out),
                    make_vertex(2, options.consumers)};
  JobEdge input;
  input.id = in;
  input.producer = VertexId{0};
  input.consumer = kMiddle;
  input.partitioning = Partitioning::kRebalance;
  if (options.with_input) graph.edges.push_back(input);
  JobEdge output;
  output.id = out;
  output.producer = kMiddle;
  output.consumer = VertexId{2};
  output.partitioning = options.output;
  output.buffer_timeout_ms = options.buffer_timeout_ms;
  graph.edges.push_back(output);
  return {std::make_shared<const JobGraph>(std::move(graph)),
          std::make_shared<TestBuiltJob>(options)};
}

std::vector<TaskState> StateList::states() const {
  std::vector<TaskState> states;
  for (const TaskStateChange& change : changes) states.push_back(change.state);
  return states;
}

void FeedGate::feed(uint32_t producer, uint64_t number) {
  Encoder encoder;
  encoder.write_fixed(number);
  feed_bytes(producer, std::string(encoder.bytes()));
}
void FeedGate::feed_bytes(uint32_t producer, std::string payload) {
  channels_[producer].push_back({ElementKind::kRecord, INT64_MIN, std::move(payload)});
}
void FeedGate::feed_event(uint32_t producer, ElementKind kind, std::string payload) {
  channels_[producer].push_back({kind, INT64_MIN, std::move(payload)});
}

std::optional<uint32_t> FeedGate::next_ready() {
  std::vector<uint32_t> producers;
  ready(&producers);
  if (producers.empty()) return std::nullopt;
  for (uint32_t producer : producers) {
    if (producer >= turn_) return producer;
  }
  return producers[0];
}
void FeedGate::ready(std::vector<uint32_t>* producers) {
  producers->clear();
  for (const auto& [producer, elements] : channels_) {
    if (taken_[producer] < elements.size()) producers->push_back(producer);
  }
}
std::optional<Element> FeedGate::take_from(uint32_t producer) {
  auto& elements = channels_[producer];
  if (taken_[producer] == elements.size()) return std::nullopt;
  const RecordedElement& element = elements[taken_[producer]++];
  turn_ = producer + 1;
  if (element.kind == ElementKind::kRecord) records_++;
  return Element{element.kind, producer, element.timestamp, element.payload};
}
std::optional<RecordRun> FeedGate::begin_run(uint32_t producer, uint32_t records_max,
                                             const bool* stop) {
  run_bytes_.clear();
  const auto& elements = channels_[producer];
  for (size_t i = taken_[producer]; i < elements.size(); i++) {
    if (elements[i].kind != ElementKind::kRecord) break;
    char length[kVarintBytesMax];
    run_bytes_.append(length, put_varint(length, elements[i].payload.size()));
    run_bytes_ += elements[i].payload;
  }
  if (run_bytes_.empty()) return std::nullopt;
  return RecordRun({}, run_bytes_, records_max, stop);
}
void FeedGate::end_run(uint32_t producer, const RecordRun& run) {
  taken_[producer] += run.records();
  records_ += run.records();
  turn_ = producer + 1;
}
bool FeedGate::ended() const {
  if (!ending_) return false;
  return std::all_of(channels_.begin(), channels_.end(), [&](const auto& channel) {
    const auto taken = taken_.find(channel.first);
    return channel.second.size() == (taken == taken_.end() ? 0 : taken->second);
  });
}
std::vector<ChannelPosition> FeedGate::positions() const {
  std::vector<ChannelPosition> positions;
  for (const auto& [producer, taken] : taken_) positions.push_back({producer, taken, 0});
  return positions;
}

Harness::Harness(const TestJob::Options& options) : Harness(options, WithoutTask()) {
  auto decisions = std::make_unique<LiveDecisions>(clock, make_seeded_random(1),
                                                   recorder.decision_log(kAttempt, {}));
  task = std::make_unique<StreamTask>(
      StreamTask::Options{kAttempt, job.graph, job.built, options.settings},
      StreamTask::Environment{clock, recorder.record(kAttempt, files), nullptr, states},
      std::move(decisions));
  connect(options);
}

Harness::Harness(const TestJob::Options& options, std::unique_ptr<Decisions> decisions,
                 Faults* faults)
    : Harness(options, WithoutTask()) {
  task = std::make_unique<StreamTask>(
      StreamTask::Options{kAttempt, job.graph, job.built, options.settings},
      StreamTask::Environment{clock, files, faults, states}, std::move(decisions));
  connect(options);
}

Harness::Harness(const TestJob::Options& options, WithoutTask)
    : job(TestJob::make(options)),
      output(std::make_shared<CapturePartition>(options.consumers, true)) {}

namespace {

const Clock& standing_clock() {
  static const ManualClock clock;
  return clock;
}

}  // namespace

FastHarness::FastHarness(const TestJob::Options& options)
    : Harness(options,
              std::make_unique<LiveDecisions>(standing_clock(), make_seeded_random(1), nullptr)) {}

void Harness::connect(const TestJob::Options& options) {
  std::vector<std::shared_ptr<InputGate>> gates;
  if (options.with_input)
    gates.push_back(recorder.record(kAttempt, 0, {}, std::shared_ptr<InputGate>(gate)));
  task->connect(std::move(gates),
                {recorder.record(kAttempt, 0, std::shared_ptr<ResultPartition>(output))});
}

StepResult Harness::run() {
  StepResult result = StepResult::kWorked;
  for (int i = 0; i < 10'000 && result == StepResult::kWorked; i++) result = task->step();
  return result;
}

std::vector<uint64_t> Harness::numbers(uint32_t subpartition) {
  std::vector<uint64_t> numbers;
  for (const RecordedElement& element : output->elements(subpartition)) {
    if (element.kind == ElementKind::kRecord)
      numbers.push_back(Decoder(element.payload).read_fixed<uint64_t>());
  }
  return numbers;
}

std::vector<uint64_t> Harness::all_numbers() {
  std::vector<uint64_t> all;
  for (uint32_t i = 0; i < 16; i++) {
    for (uint64_t number : numbers(i)) all.push_back(number);
  }
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace freshet::task_test
