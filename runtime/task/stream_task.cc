#include "runtime/task/stream_task.h"

#include <algorithm>

#include "runtime/base/check.h"
#include "runtime/base/configuration.h"
#include "runtime/base/log.h"
#include "runtime/graph/buffer_timeout.h"
#include "runtime/operators/edge_type_of.h"
#include "runtime/operators/permanent_failure.h"

namespace freshet {

namespace {

// A step of what is fast ends by this, of what is slow by its time: long enough that the caches pay
// for a change of tasks, short enough that a thousand tasks have their turns.
constexpr uint32_t kElementsPerStep = 32768;
constexpr Duration kStepTime = 2ms;
constexpr std::chrono::milliseconds kTimerMax = 1s;  // A clock that goes back is seen after it.

}  // namespace

StreamTask::StreamTask(Options options, Environment environment,
                       std::unique_ptr<Decisions> decisions)
    : options_(std::move(options)),
      environment_(std::move(environment)),
      vertex_(options_.graph->vertices.at(options_.attempt.subtask.vertex.value)),
      decisions_(std::move(decisions)),
      pace_(environment_.clock, kStepTime) {
  running_.attempt = options_.attempt;
  for (const ChainedOperator& chained : vertex_.operators) running_.names.push_back(&chained.name);
  running_.otherwise = &vertex_.operators.front().name;
  const auto& chained = vertex_.operators;
  // Other timestamps are times of events, which say nothing of how late a record comes.
  const bool scheduled = options_.settings.contains(std::string(config::kScheduleStart.name));
  if (scheduled &&
      std::any_of(chained.begin(), chained.end(), [](const auto& one) { return one.sink; }))
    latency_ = std::make_unique<LatencyMeter>(environment_.clock);
}

StreamTask::~StreamTask() {
  const RunningCodeScope scope(&running_);
  release();
}

void StreamTask::connect(std::vector<std::shared_ptr<InputGate>> gates,
                         std::vector<std::shared_ptr<ResultPartition>> partitions) {
  const JobGraph& graph = *options_.graph;
  const std::vector<DatasetId> inputs = graph.inputs_of(vertex_.id);
  const std::vector<DatasetId> outputs = graph.outputs_of(vertex_.id);
  CHECK(gates.size() == inputs.size() && partitions.size() == outputs.size());
  for (size_t i = 0; i < gates.size(); i++) {
    const JobEdge& edge = graph.edges[inputs[i].value];
    Input input;
    input.gate = std::move(gates[i]);
    input.head_input = edge.input;
    input.producers =
        producers_of_consumer(edge.partitioning, options_.attempt.subtask.index,
                              graph.vertices[edge.producer.value].parallelism, vertex_.parallelism)
            .size();
    inputs_.push_back(std::move(input));
    open_gates_.push_back(inputs_.back().gate.get());
  }
  for (size_t i = 0; i < partitions.size(); i++) {
    const JobEdge& edge = graph.edges[outputs[i].value];
    Output output;
    output.dataset = outputs[i];
    output.partition = std::move(partitions[i]);
    output.timeout_ms = edge.buffer_timeout_ms;
    // What enumerators and readers say to each other is little and waited for.
    output.flush_every_step = edge.buffer_timeout_ms == 0 || edge.feedback || vertex_.hidden;
    output.partition->watch(&end_run_, &cancelled_);
    outputs_.push_back(std::move(output));
  }
  gates_open_ = inputs_.size();
}

std::optional<Duration> StreamTask::flush_interval() const {
  std::optional<Duration> least;
  for (const Output& output : outputs_) {
    if (output.flush_every_step || output.timeout_ms == kNeverFlushedByTime) continue;
    if (!least || output.timeout() < *least) least = output.timeout();
  }
  return least;
}

StepResult StreamTask::step() {
  if (is_terminal(state_)) return StepResult::kFinished;
  const TimePoint begin = known_begin() ? *known_begin() : environment_.clock.now();
  times_.begin_step(begin);
  last_blocked_ = took_nothing_ = false;
  pace_.begin_step(begin);
  const StepResult result = step_guarded();
  count_elements();
  const TimePoint end = environment_.clock.now();
  const Duration waited = take_waited();
  pace_.end_step(end - waited);
  set_end(end);
  using Kind = TaskTimes::Kind;
  // Whoever has work and waits for a worker is busy, unless all of it is to pay back.
  const Kind next = result == StepResult::kFinished ? Kind::kNone
                    : last_blocked_                 ? Kind::kBackPressured
                    : result == StepResult::kWorked ? Kind::kBusy
                                                    : Kind::kIdle;
  times_.end_step(end, took_nothing_ ? Kind::kBackPressured : Kind::kBusy, waited, next);
  return result;
}

StepResult StreamTask::step_guarded() {
  const RunningCodeScope scope(&running_);
  try {
    return work();
  } catch (const PermanentFailure& error) {
    fail(invalid_argument("operator '" + failed_operator() + "': " + error.what()),
         failed_operator());
  } catch (const std::exception& error) {
    fail_by_user(error.what());
  } catch (...) {
    fail_by_user("not a std::exception");
  }
  return StepResult::kFinished;
}

StepResult StreamTask::work() {
  if (!take_mail()) return StepResult::kFinished;
  if (state_ == TaskState::kDeploying) {
    initialize();
    return is_terminal(state_) ? StepResult::kFinished : StepResult::kWorked;
  }
  if (state_ == TaskState::kEndOfData) return StepResult::kIdle;
  // Who only waits for the disk decides nothing, however often it looks.
  if (phase_ != Phase::kDrain || gates_open_ != 0) decisions_->tick();
  StepResult result = StepResult::kWorked;
  for (uint32_t done = 0; done < kElementsPerStep;) {
    std::optional<Decision> decision;
    last_blocked_ = !can_emit();
    if (!last_blocked_) decision = decisions_->next(offers());
    if (!decision) {
      last_blocked_ = last_blocked_ || owes();
      took_nothing_ = last_blocked_ && done == 0;
      result = pays_back_ ? StepResult::kWorked : StepResult::kIdle;
      break;
    }
    const uint32_t taken = act(*decision);
    if (state_ != TaskState::kRunning)
      return is_terminal(state_) ? StepResult::kFinished : StepResult::kIdle;
    done += taken;
    if (pace_.over()) break;
  }
  if (fail_by_status()) return StepResult::kFinished;
  end_when_drained();
  if (state_ != TaskState::kRunning)
    return is_terminal(state_) ? StepResult::kFinished : StepResult::kIdle;
  end_step_outside();
  if (result == StepResult::kIdle && phase_ == Phase::kProcess) chain_->on_idle();
  if (result == StepResult::kIdle && !last_blocked_ && poll_wait_ && !timer_wanted_) want_timer();
  return result;
}

bool StreamTask::take_mail() {
  if (mail_.load(std::memory_order_relaxed) == 0) return true;
  const uint32_t mail = mail_.exchange(0);
  if (mail & kCancel) {
    move_to(TaskState::kCanceling);
    release();
    move_to(TaskState::kCanceled);
    return false;
  }
  if (mail & kFinish) {
    if (state_ != TaskState::kEndOfData) {
      fail(failed_precondition("told to finish before the end of its data"), {});
      return false;
    }
    release();
    move_to(TaskState::kFinished);
    return false;
  }
  if (mail & kProvoked) fail_as_provoked(provoked_.load());
  if (mail & kFlush) flush_due_ = true;
  if (mail & kTimer) timer_wanted_ = false;
  return true;
}

void StreamTask::initialize() {
  const TimePoint begin = environment_.clock.now();
  move_to(TaskState::kInitializing);
  decisions_->tick();
  if (Status status = open_inputs_and_outputs(); !status.ok()) {
    fail(std::move(status), {});
    return;
  }
  if (fail_by_status()) return;
  poll_due_ = chain_->source() != nullptr;
  const Duration took = environment_.clock.now() - begin;
  counters_[kInitializationNanos].store(static_cast<uint64_t>(took.count()),
                                        std::memory_order_relaxed);
  move_to(TaskState::kRunning);
  if (poll_due_ == false && gates_open_ == 0) end_processing();
  end_step_outside();
}

Status StreamTask::open_inputs_and_outputs() {
  const JobGraph& graph = *options_.graph;
  std::map<DatasetId, RecordReceiver*> writers;
  const std::vector<DatasetId> output_ids = graph.outputs_of(vertex_.id);
  for (size_t i = 0; i < outputs_.size(); i++) {
    const JobEdge& edge = graph.edges[output_ids[i].value];
    Output& output = outputs_[i];
    ASSIGN_OR_RETURN(output.type, edge_type_of(*options_.built, edge));
    const JobVertex& consumer = graph.vertices[edge.consumer.value];
    RecordWriter::Options writer;
    writer.partitioning = edge.partitioning;
    writer.subpartitions = consumers_of_producer(edge.partitioning, options_.attempt.subtask.index,
                                                 vertex_.parallelism, consumer.parallelism)
                               .size();
    writer.consumer_parallelism = consumer.parallelism;
    writer.consumer_max_parallelism = consumer.max_parallelism;
    writer.flush_each = edge.buffer_timeout_ms == 0 && !edge.feedback && !vertex_.hidden;
    const bool of_user = !edge.feedback && !vertex_.hidden;  // No split, and no request for one.
    if (of_user && environment_.faults != nullptr) writer.faults = environment_.faults->records();
    output.writer = RecordWriter::make(writer, *output.type, *output.partition, *decisions_);
    writers[edge.id] = output.writer.get();
  }
  chain_ = std::make_unique<OperatorChain>(
      OperatorChain::Options{options_.attempt, vertex_, graph, *options_.built, options_.settings,
                             environment_.files, *decisions_, running_.name, environment_.memory,
                             cancelled_, latency_.get()},
      std::move(writers));
  RETURN_IF_ERROR(chain_->open());
  std::vector<uint32_t> producers;
  const std::vector<DatasetId> input_ids = graph.inputs_of(vertex_.id);
  for (size_t i = 0; i < inputs_.size(); i++) {
    const JobEdge& edge = graph.edges[input_ids[i].value];
    Input& input = inputs_[i];
    ASSIGN_OR_RETURN(input.type, edge_type_of(*options_.built, edge));
    input.reader = input.type->make_reader();
    input.receiver = &chain_->input(input.head_input);
    input.paced = std::make_unique<PacedReceiver>(*input.receiver, pace_, end_run_);
    producers.push_back(input.producers);
  }
  valve_ = WatermarkValve(producers);
  return Status();
}

bool StreamTask::can_emit() {
  bool available = true;
  pays_back_ = false;
  for (const Output& output : outputs_) {
    if (output.partition->available()) [[likely]]
      continue;
    if (output.partition->pay_back()) pays_back_ = true;
    available = output.partition->available() && available;
  }
  if (phase_ == Phase::kDrain) return true;
  if (available) end_run_ = false;
  return available;
}

bool StreamTask::owes() const {
  return std::any_of(outputs_.begin(), outputs_.end(),
                     [](const Output& output) { return output.partition->spilled(); });
}

bool StreamTask::all_handed_over() {
  bool all = true;
  for (const Output& output : outputs_) all = output.partition->handed_over() && all;
  return all;
}

Offers StreamTask::offers() const {
  Offers offers;
  offers.gates = &open_gates_;
  offers.finish = phase_ == Phase::kFinish;
  offers.poll = phase_ == Phase::kProcess && poll_due_;
  offers.poll_records = pace_.records_max();
  if (phase_ == Phase::kProcess) offers.poll_wait = poll_wait_;
  const SourceOperator* source = chain_->source();
  offers.elements = phase_ == Phase::kDrain ||
                    (phase_ == Phase::kProcess && (source == nullptr || source->wants_input()));
  return offers;
}

uint32_t StreamTask::act(const Decision& decision) {
  switch (decision.kind) {
    case DecisionKind::kElement:
      return take_element(decision);
    case DecisionKind::kEndInput:
      end_gate(decision.input);
      return 1;
    case DecisionKind::kPoll:
      return poll_source(static_cast<uint32_t>(decision.value));
    default:
      CHECK(decision.kind == DecisionKind::kFinish);
      finish_some();
      pace_.count(pace_.records_max());
      return 1;
  }
}

uint32_t StreamTask::take_run(const Decision& decision) {
  Input& input = inputs_[decision.input];
  const uint32_t records_max = pace_.is_fast()
                                   ? decisions_->run_max()
                                   : std::min(decisions_->run_max(), pace_.records_max());
  std::optional<RecordRun> run = input.gate->begin_run(decision.producer, records_max, &end_run_);
  if (!run) return 0;
  // What was taken counts also when user code throws.
  struct End {
    InputGate& gate;
    const uint32_t producer;
    const RecordRun& run;
    ~End() { gate.end_run(producer, run); }
  } end{*input.gate, decision.producer, *run};
  input.reader->read_run(*run, *input.paced);
  return run->records();
}

uint32_t StreamTask::take_element(const Decision& decision) {
  Faults* const faults = environment_.faults;
  element_ = decision;
  poll_due_ = chain_->source() != nullptr;
  // Whoever looks at each element gets each; the others take many at once.
  const bool one_by_one =
      faults != nullptr || poll_due_ || phase_ == Phase::kDrain || decisions_->run_max() == 1;
  if (const uint32_t taken = one_by_one ? 0 : take_run(decision)) {
    element_.reset();
    return taken;
  }
  if (faults != nullptr) [[unlikely]]
    faults->at("task.before_element");
  Input& input = inputs_[decision.input];
  const std::optional<Element> element = input.gate->take_from(decision.producer);
  CHECK(element.has_value());
  if (phase_ == Phase::kDrain) {
    element_.reset();
    return 1;  // Nobody wants it any more.
  }
  if (element->kind == ElementKind::kRecord) [[likely]] {
    input.reader->read(element->payload, element->timestamp, *input.receiver);
  } else {
    take_event(decision, *element);
  }
  element_.reset();
  if (faults != nullptr) [[unlikely]]
    faults->at("task.after_element");
  pace_.count(1);
  return 1;
}

void StreamTask::take_event(const Decision& decision, const Element& element) {
  Decoder decoder(element.payload);
  switch (element.kind) {
    case ElementKind::kWatermark:
      advance_event_time(
          valve_.on_watermark(decision.input, decision.producer, decoder.read_fixed<int64_t>()));
      return;
    case ElementKind::kStatus: {
      const bool active = decoder.read_fixed<uint8_t>() != 0;
      advance_event_time(valve_.on_status(decision.input, decision.producer, active));
      if (valve_.active() != sent_active_) {
        sent_active_ = !sent_active_;
        const char payload = sent_active_ ? 1 : 0;
        broadcast(ElementKind::kStatus, {&payload, 1});
      }
      return;
    }
    case ElementKind::kBarrier:
      LOG_WARN("barrier_ignored", {{"job", options_.attempt.job}, {"attempt", options_.attempt}});
      return;
    case ElementKind::kRecord:
    case ElementKind::kEndOfData:
      return;  // A gate says itself when all its producers have ended.
  }
}

void StreamTask::advance_event_time(std::optional<EpochMillis> event_time) {
  // The end of time comes to operators when they finish, and to consumers with the end of the data.
  if (!event_time || *event_time == INT64_MAX) return;
  chain_->on_watermark(*event_time);
  Encoder encoder;
  encoder.write_fixed(*event_time);
  broadcast(ElementKind::kWatermark, encoder.bytes());
}

void StreamTask::broadcast(ElementKind kind, std::string_view payload) {
  for (Output& output : outputs_) {
    if (output.writer->status().ok()) output.partition->broadcast_event(kind, payload);
  }
}

void StreamTask::end_gate(uint32_t index) {
  open_gates_[index] = nullptr;
  gates_open_--;
  if (index < 64) counters_[kInputsRead].fetch_or(uint64_t{1} << index, std::memory_order_relaxed);
  if (phase_ == Phase::kDrain) {
    end_when_drained();
    return;
  }
  const uint32_t head_input = inputs_[index].head_input;
  bool input_open = false;
  for (size_t i = 0; i < inputs_.size(); i++) {
    input_open = input_open || (open_gates_[i] != nullptr && inputs_[i].head_input == head_input);
  }
  if (!input_open) chain_->end_input(head_input);
  advance_event_time(valve_.on_gate_ended(index));
  poll_due_ = chain_->source() != nullptr;
  if (gates_open_ == 0 && chain_->source() == nullptr) end_processing();
}

uint32_t StreamTask::poll_source(uint32_t records_max) {
  const uint64_t before = chain_->source_records();
  polling_ = true;
  const PollResult result = chain_->poll(records_max);
  polling_ = false;
  poll_due_ = result == PollResult::kMore;
  poll_wait_.reset();
  if (const auto until = chain_->wake_at(); until && result == PollResult::kWaiting) {
    poll_wait_ = PollWait{decisions_->processing_time(), *until};
  }
  if (result == PollResult::kEnded) end_processing();
  const uint64_t records = std::max<uint64_t>(1, chain_->source_records() - before);
  pace_.count(records);
  return static_cast<uint32_t>(std::min<uint64_t>(records, kElementsPerStep));
}

void StreamTask::want_timer() {
  timer_wanted_ = true;
  const EpochMillis now = decisions_->processing_time();
  const int64_t wait = std::clamp<int64_t>(poll_wait_->until - now, 1, kTimerMax.count());
  environment_.listener->on_timer_wanted(options_.attempt, std::chrono::milliseconds(wait));
}

void StreamTask::end_processing() { phase_ = Phase::kFinish; }

void StreamTask::finish_some() {
  if (!chain_->finish_some()) return;
  committables_ = chain_->prepare_commit();
  if (environment_.faults != nullptr) environment_.faults->at("task.before_end_of_data");
  if (fail_by_status()) return;  // An error of a writer must not become an end of data.
  for (Output& output : outputs_) output.partition->end_of_data();
  phase_ = Phase::kDrain;
  if (fail_by_status()) return;
  end_when_drained();
}

/// Consumers learn of the end behind all that is spilled, and the JobManager not before them.
void StreamTask::end_when_drained() {
  if (state_ != TaskState::kRunning || phase_ != Phase::kDrain || gates_open_ != 0) return;
  if (all_handed_over() && !fail_by_output()) reach_end_of_data();
}

void StreamTask::reach_end_of_data() {
  end_code();
  TaskStateChange change;
  change.committables = std::move(committables_);
  for (const Output& output : outputs_) {
    if (const auto hash = output.partition->stored_hash())
      change.stored.push_back({output.dataset, *hash});
  }
  move_to(TaskState::kEndOfData, std::move(change));
}

/// Of what nobody threw, or an operator caught.
bool StreamTask::fail_by_status() {
  if (Status error = decisions_->status(); !error.ok()) {
    fail(std::move(error), {});
    return true;
  }
  return fail_by_output();
}

void StreamTask::end_step_outside() {
  for (Input& input : inputs_) input.gate->end_step();
  const TimePoint now = flush_due_ ? environment_.clock.now() : TimePoint{};
  const Duration interval = flush_due_ ? flush_interval().value_or(Duration{}) : Duration{};
  bool wants_flush = false;
  for (Output& output : outputs_) {
    ResultPartition& partition = *output.partition;
    if (output.flush_every_step) {
      if (partition.wants_flush()) partition.flush();
    } else if (output.timeout_ms != kNeverFlushedByTime) {
      const bool due = flush_due_ && output.flush_timer.is_due(now, interval, output.timeout());
      if (due && partition.wants_flush()) partition.flush_older();
      // Who only waited for memory has nothing new for the next time.
      const bool done = due && took_nothing_;
      wants_flush = wants_flush || (!done && partition.wants_flush());
    }
    partition.end_step();
  }
  flush_due_ = false;
  wants_flush_.store(wants_flush, std::memory_order_relaxed);
}

/// Destructors are code of users, too, which may crash or not return: they run in a step, and what
/// they do comes before the task's last states.
void StreamTask::end_code() {
  if (chain_) chain_->close();
  count_elements();
  for (Input& input : inputs_) {
    input.reader.reset();  // With the records that it holds.
    input.paced.reset();
  }
  chain_.reset();
}

void StreamTask::release() {
  if (released_) return;
  if (chain_) chain_->close();
  count_elements();
  released_ = true;
  for (Input& input : inputs_) input.gate->release();
  for (Output& output : outputs_) output.partition->release();
  end_code();
}

void StreamTask::move_to(TaskState state, TaskStateChange change) {
  CHECK(can_move(state_, state));
  LOG_INFO("task_state", {{"job", options_.attempt.job},
                          {"attempt", options_.attempt},
                          {"from", to_string(state_)},
                          {"to", to_string(state)}});
  state_ = state;
  change.attempt = options_.attempt;
  change.state = state;
  if (state == TaskState::kEndOfData) count_elements();
  change.progress = progress();
  environment_.listener->on_state(std::move(change));
}

}  // namespace freshet
