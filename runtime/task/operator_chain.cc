#include "runtime/task/operator_chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <type_traits>

#include "runtime/base/check.h"
#include "runtime/base/configuration.h"
#include "runtime/base/log.h"
#include "runtime/task/spilled_file.h"
#include "state/memory_spill_space.h"

namespace freshet {

class OperatorChain::Context final : public OperatorContext {
 public:
  Context(const Options& options, const ChainedOperator& chained,
          std::optional<EpochMillis>& wake_at, const uint64_t& memory_bytes)
      : options_(options), chained_(chained), wake_at_(wake_at), memory_bytes_(memory_bytes) {}

  uint32_t subtask() const override { return options_.attempt.subtask.index; }
  uint32_t parallelism() const override { return options_.vertex.parallelism; }
  uint32_t max_parallelism() const override { return options_.vertex.max_parallelism; }
  uint32_t consumers(uint32_t output) const override {
    for (const ChainedOutput& one : chained_.outputs) {
      if (one.output != output) continue;
      if (one.chained) return 1;
      const JobEdge& edge = options_.graph.edges[one.dataset.value];
      return options_.graph.vertices[edge.consumer.value].parallelism;
    }
    return 0;
  }
  bool has_input(uint32_t input) const override {
    const auto& edges = options_.graph.edges;
    return std::any_of(edges.begin(), edges.end(), [&](const JobEdge& edge) {
      return edge.target_operator == chained_.id && edge.input == input;
    });
  }
  const AttemptId& attempt() const override { return options_.attempt; }
  OperatorId operator_id() const override { return chained_.id; }
  const std::string& operator_name() const override { return chained_.name; }
  EpochMillis processing_time() const override { return options_.decisions.processing_time(); }
  uint64_t random() override { return options_.decisions.random(); }
  std::string external(const std::string&, const std::function<std::string()>& ask) override {
    return options_.decisions.external(ask);
  }
  void wake_at(EpochMillis time) override { wake_at_ = time; }
  FileSystem& files() override { return options_.files; }
  SpillSpace* spill_space() override {
    if (memory_bytes_ != 0 && !space_) space_ = make_spill_space();
    return space_.get();
  }
  std::string setting(const std::string& name) const override {
    const auto found = options_.settings.find(name);
    if (found != options_.settings.end()) return found->second;
    for (const ConfigKey* key : config_keys()) {
      if (key->name == name) return std::string(key->default_value);
    }
    return {};
  }

 private:
  std::unique_ptr<SpillSpace> make_spill_space() const {
    const OperatorMemory& memory = options_.memory;
    const uint64_t bytes = memory_bytes_;
    if (!memory.directories) return std::make_unique<MemorySpillSpace>(bytes, memory.compresses);
    const AttemptId& attempt = options_.attempt;
    const std::string name =
        fmt::format("job-{}-vertex-{}-subtask-{}-attempt-{}-operator-{}", attempt.job.to_string(),
                    attempt.subtask.vertex.value, attempt.subtask.index, attempt.attempt,
                    to_string(chained_.id));
    return std::make_unique<TaskSpillSpace>(
        TaskSpillSpace::Options{memory.directories, name, bytes, memory.compresses},
        options_.cancelled);
  }

  const Options& options_;
  const ChainedOperator& chained_;
  std::optional<EpochMillis>& wake_at_;
  const uint64_t& memory_bytes_;  // 0: none.
  std::unique_ptr<SpillSpace> space_;
};

/// One input of one operator. Notes whose code runs; when that throws, the note
/// stays.
class OperatorChain::Input final : public RecordReceiver {
 public:
  Input(Operator& receiver, uint32_t input, const std::string& name, OperatorName& running,
        LatencyMeter* latency)
      : receiver_(receiver), input_(input), name_(name), running_(running), latency_(latency) {}

  void receive(const void* record, EpochMillis timestamp) override {
    const std::string* const before = enter();
    if (latency_ != nullptr && timestamp != kNoTimestamp) latency_->add({&timestamp, 1});
    receiver_.process(input_, record, timestamp);
    running_.store(before, std::memory_order_relaxed);
  }

  void receive_batch(RecordBatch& batch) override {
    const std::string* const before = enter();
    if (latency_ != nullptr && batch.count > 0 && batch.timestamps[0] != kNoTimestamp)
      latency_->add({batch.timestamps.data(), batch.count});
    receiver_.process_batch(input_, batch);
    running_.store(before, std::memory_order_relaxed);
  }

  uint32_t input() const { return input_; }

 private:
  const std::string* enter() {
    const std::string* const before = running_.load(std::memory_order_relaxed);
    running_.store(&name_, std::memory_order_relaxed);
    return before;
  }

  Operator& receiver_;
  const uint32_t input_;
  const std::string& name_;
  OperatorName& running_;
  LatencyMeter* const latency_;  // Null unless it is a sink's.
};

/// Gives each record to several, or to nobody.
class OperatorChain::Fanout final : public RecordReceiver {
 public:
  explicit Fanout(std::vector<RecordReceiver*> to) : to_(std::move(to)) {}
  void receive(const void* record, EpochMillis timestamp) override {
    for (RecordReceiver* receiver : to_) receiver->receive(record, timestamp);
  }

 private:
  const std::vector<RecordReceiver*> to_;
};

struct OperatorChain::Member {
  const ChainedOperator* chained = nullptr;
  uint32_t outputs = 0;
  std::unique_ptr<Context> context;
  std::vector<std::unique_ptr<Input>> inputs;  // That are fed; the head's as they are asked for.
  std::unique_ptr<Operator> code;              // Before what it uses in the order of destruction.
};

template <class Call>
auto OperatorChain::guarded(size_t index, Call call) {
  options_.running.store(&options_.vertex.operators[index].name, std::memory_order_relaxed);
  if constexpr (std::is_void_v<decltype(call())>) {
    call();
    options_.running.store(nullptr, std::memory_order_relaxed);
  } else {
    auto result = call();
    options_.running.store(nullptr, std::memory_order_relaxed);
    return result;
  }
}

OperatorChain::OperatorChain(const Options& options, std::map<DatasetId, RecordReceiver*> writers)
    : options_(options), writers_(std::move(writers)) {}

OperatorChain::~OperatorChain() {
  close();
  for (size_t i = 0; i < members_.size(); i++) guarded(i, [&] { members_[i]->code.reset(); });
}

Status OperatorChain::make_member(size_t index) {
  const ChainedOperator& chained = options_.vertex.operators[index];
  const auto factory = options_.built.operator_factory(chained.id);
  if (factory == nullptr) {
    return invalid_argument("the module has no operator '" + chained.name + "' with id " +
                            to_string(chained.id));
  }
  if (factory->is_source() && index != 0) {
    return invalid_argument("source '" + chained.name + "' is chained behind another operator");
  }
  auto member = std::make_unique<Member>();
  member->chained = &chained;
  for (const LogicalOperator& logical : options_.built.graph().operators) {
    if (logical.id == chained.id) member->outputs = logical.outputs;
  }
  for (const ChainedOutput& output : chained.outputs)
    member->outputs = std::max(member->outputs, output.output + 1);
  member->context = std::make_unique<Context>(options_, chained, wake_at_, memory_bytes_);
  collects_ = collects_ || factory->uses_spill_space();
  member->code = guarded(index, [&] { return factory->make(); });
  if (member->code == nullptr)
    return invalid_argument("operator '" + chained.name + "' was not made");
  if (factory->is_source()) source_ = static_cast<SourceOperator*>(member->code.get());
  members_.push_back(std::move(member));
  return Status();
}

Status OperatorChain::open() {
  for (size_t i = 0; i < options_.vertex.operators.size(); i++) RETURN_IF_ERROR(make_member(i));
  if (collects_ && options_.graph.mode == RuntimeMode::kBatch) decide_memory();
  for (size_t i = members_.size(); i-- > 0;) {
    std::vector<RecordReceiver*> outputs;
    for (uint32_t output = 0; output < members_[i]->outputs; output++) {
      RecordReceiver* receiver = receiver_of(i, output);
      if (receiver == nullptr)
        return invalid_argument("the job graph names an output that does not exist");
      outputs.push_back(receiver);
    }
    guarded(i, [&] { members_[i]->code->open(*members_[i]->context, std::move(outputs)); });
  }
  return Status();
}

/// How much there is decides what is emitted when. Before any operator runs:
/// who fails there asks for nothing behind it, neither now nor when the task is
/// executed again.
void OperatorChain::decide_memory() {
  const std::string bytes =
      options_.decisions.external([this] { return std::to_string(options_.memory.bytes); });
  memory_bytes_ = std::strtoull(bytes.c_str(), nullptr, 10);
}

RecordReceiver* OperatorChain::receiver_of(size_t index, uint32_t output) {
  std::vector<RecordReceiver*> to;
  for (const ChainedOutput& one : members_[index]->chained->outputs) {
    if (one.output != output) continue;
    if (!one.chained) {
      const auto writer = writers_.find(one.dataset);
      if (writer == writers_.end()) return nullptr;
      to.push_back(writer->second);
    } else {
      if (one.chained_operator >= members_.size() || one.chained_operator <= index) return nullptr;
      to.push_back(&input_of(one.chained_operator, one.input));
    }
  }
  if (to.size() == 1) return to[0];
  receivers_.push_back(std::make_unique<Fanout>(std::move(to)));
  return receivers_.back().get();
}

OperatorChain::Input& OperatorChain::input_of(size_t index, uint32_t input) {
  Member& member = *members_[index];
  for (const auto& one : member.inputs) {
    if (one->input() == input) return *one;
  }
  member.inputs.push_back(
      std::make_unique<Input>(*member.code, input, member.chained->name, options_.running,
                              member.chained->sink ? options_.latency : nullptr));
  return *member.inputs.back();
}

RecordReceiver& OperatorChain::input(uint32_t input) { return input_of(0, input); }

void OperatorChain::end_input(uint32_t input) {
  guarded(0, [&] { members_[0]->code->end_input(input); });
}

void OperatorChain::on_watermark(EpochMillis event_time) {
  for (size_t i = 0; i < members_.size(); i++) {
    guarded(i, [&] { members_[i]->code->on_watermark(event_time); });
  }
}

PollResult OperatorChain::poll(uint32_t records_max) {
  wake_at_.reset();
  return guarded(0, [&] { return source_->poll(records_max); });
}

void OperatorChain::on_idle() {
  for (size_t i = 0; i < members_.size(); i++) guarded(i, [&] { members_[i]->code->on_idle(); });
}

void OperatorChain::begin_finish(size_t index) {
  Member& member = *members_[index];
  if (index > 0) {
    for (const auto& input : member.inputs) {
      guarded(index, [&] { member.code->end_input(input->input()); });
    }
  }
  guarded(index, [&] { member.code->on_watermark(INT64_MAX); });
}

bool OperatorChain::finish_some() {
  if (finishing_ == members_.size()) return true;
  if (!finish_begun_) begin_finish(finishing_);
  finish_begun_ = true;
  if (!guarded(finishing_, [&] { return members_[finishing_]->code->finish(); })) return false;
  finishing_++;
  finish_begun_ = false;
  return finishing_ == members_.size();
}

std::vector<CommittableBytes> OperatorChain::prepare_commit() {
  std::vector<CommittableBytes> all;
  for (size_t i = 0; i < members_.size(); i++) {
    for (std::string& payload : guarded(i, [&] { return members_[i]->code->prepare_commit(); })) {
      all.push_back({members_[i]->chained->id, std::move(payload)});
    }
  }
  return all;
}

void OperatorChain::close() {
  if (closed_) return;
  closed_ = true;
  for (size_t i = 0; i < members_.size(); i++) {
    const auto& member = members_[i];
    try {
      guarded(i, [&] { member->code->close(); });
    } catch (...) {
      LOG_WARN("operator_threw_in_close", {{"job", options_.attempt.job},
                                           {"attempt", options_.attempt},
                                           {"operator", member->chained->name}});
    }
  }
}

uint64_t OperatorChain::source_records() const {
  return source_ == nullptr ? 0 : source_->source_records();
}

}  // namespace freshet
