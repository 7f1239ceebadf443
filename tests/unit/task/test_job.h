#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/memory_file_system.h"
#include "runtime/operators/source.h"
#include "runtime/task/replay.h"
#include "runtime/task/stream_task.h"

namespace freshet::task_test {

/// Records are u64.
class NumberType final : public EdgeType {
 public:
  const std::string& fingerprint() const override { return fingerprint_; }
  uint32_t fixed_size() const override { return 8; }
  void encode(const void* record, Encoder& encoder) const override {
    encoder.write_fixed(*static_cast<const uint64_t*>(record));
  }
  std::unique_ptr<RecordReader> make_reader() const override;
  uint64_t key_hash(const void* record, Encoder& scratch) const override;
  uint32_t target(const void* record, uint32_t consumers) const override;

 private:
  std::string fingerprint_ = "u64";
};

/// An operator made of functions; those not given do nothing.
class FunctionOperator final : public SourceOperator {
 public:
  struct Functions {
    std::function<void(OperatorContext&, RecordReceiver&)> open;
    std::function<void(uint64_t, OperatorContext&, RecordReceiver&)> process;
    std::function<void(uint32_t, RecordReceiver&)> end_input;
    std::function<bool(OperatorContext&, RecordReceiver&)> finish;
    std::function<PollResult(uint32_t, OperatorContext&, RecordReceiver&)> poll;
    std::function<bool()> wants_input;
    std::function<uint64_t()> source_records;
    std::function<void(EpochMillis)> on_watermark;
    std::vector<std::string> committables;
    std::function<void()> on_idle;
    std::function<void()> close;
    std::function<void()> destroyed;
  };

  explicit FunctionOperator(Functions functions) : functions_(std::move(functions)) {}
  ~FunctionOperator() override {
    if (functions_.destroyed) functions_.destroyed();
  }

  void open(OperatorContext& context, std::vector<RecordReceiver*> outputs) override;
  void process(uint32_t input, const void* record, EpochMillis timestamp) override;
  void on_watermark(EpochMillis watermark) override;
  void on_idle() override {
    if (functions_.on_idle) functions_.on_idle();
  }
  void end_input(uint32_t input) override;
  bool finish() override;
  std::vector<std::string> prepare_commit() override { return functions_.committables; }
  void close() override;
  PollResult poll(uint32_t records_max) override;
  uint64_t source_records() const override {
    return functions_.source_records ? functions_.source_records() : 0;
  }
  bool wants_input() const override {
    return functions_.wants_input ? functions_.wants_input() : true;
  }

 private:
  class Nowhere final : public RecordReceiver {
   public:
    void receive(const void*, EpochMillis) override {}
  };

  const Functions functions_;
  Nowhere nowhere_;
  OperatorContext* context_ = nullptr;
  RecordReceiver* output_ = &nowhere_;
};

using MakeFunctions = std::function<FunctionOperator::Functions()>;

/// A job of three vertices, `before -> middle -> after`, whose middle one is under test:
/// `operators` chained, `producers` subtasks before it and `consumers` behind it.
struct TestJob {
  std::shared_ptr<const JobGraph> graph;
  std::shared_ptr<const BuiltJob> built;

  struct Options {
    std::vector<MakeFunctions> operators;
    bool source = false;
    bool with_input = true;
    bool ends_in_sink = false;                         // The last operator, whatever it emits.
    std::map<std::string, std::string> settings = {};  // Of the job.
    uint32_t producers = 2;
    uint32_t consumers = 3;
    Partitioning output = Partitioning::kRebalance;
    uint64_t buffer_timeout_ms = 100;
    std::shared_ptr<const EdgeType> type = std::make_shared<NumberType>();  // Of both edges.
  };
  static TestJob make(const Options&);
};

/// One operator before one consumer.
inline TestJob::Options one(MakeFunctions make) {
  TestJob::Options options;
  options.operators = {std::move(make)};
  options.consumers = 1;
  return options;
}

inline constexpr VertexId kMiddle{1};
inline const AttemptId kAttempt{JobId{1, 2}, SubtaskId{kMiddle, 0}, 0};

/// Collects what a task says of itself.
class StateList final : public TaskListener {
 public:
  void on_state(TaskStateChange change) override { changes.push_back(std::move(change)); }
  void on_timer_wanted(const AttemptId&, Duration delay) override { timers.push_back(delay); }
  std::vector<TaskState> states() const;
  const TaskStateChange& last() const { return changes.back(); }

  std::vector<TaskStateChange> changes;
  std::vector<Duration> timers;
};

/// A gate that is fed by the test, before and while it is read.
class FeedGate final : public InputGate {
 public:
  void feed(uint32_t producer, uint64_t number);
  void feed_event(uint32_t producer, ElementKind kind, std::string payload);
  void feed_bytes(uint32_t producer, std::string payload);
  void end() { ending_ = true; }
  bool released() const { return released_; }

  std::optional<uint32_t> next_ready() override;
  void ready(std::vector<uint32_t>* producers) override;
  std::optional<Element> take_from(uint32_t producer) override;
  std::optional<RecordRun> begin_run(uint32_t producer, uint32_t records_max,
                                     const bool* stop) override;
  void end_run(uint32_t producer, const RecordRun& run) override;
  void end_step() override {}
  bool ended() const override;
  Status reattach(const Move&) override { return Status(); }
  std::vector<ChannelPosition> positions() const override;
  uint64_t records_read() const override { return records_; }
  uint64_t bytes_read() const override { return records_ * 8; }
  void release() override { released_ = true; }

 private:
  std::map<uint32_t, std::vector<RecordedElement>> channels_;
  std::map<uint32_t, size_t> taken_;
  std::string run_bytes_;
  uint32_t turn_ = 0;
  bool ending_ = false;
  bool released_ = false;
  uint64_t records_ = 0;
};

/// The task under test with everything around it.
struct Harness {
  explicit Harness(const TestJob::Options& options);
  /// With other decisions than live ones.
  Harness(const TestJob::Options& options, std::unique_ptr<Decisions> decisions,
          Faults* faults = nullptr);

  /// Steps until there is nothing to do.
  StepResult run();
  std::vector<uint64_t> numbers(uint32_t subpartition);
  std::vector<uint64_t> all_numbers();

  ManualClock clock;
  MemoryFileSystem files;
  TestJob job;
  MemoryTaskRecorder recorder;
  std::shared_ptr<StateList> states = std::make_shared<StateList>();
  std::shared_ptr<FeedGate> gate = std::make_shared<FeedGate>();
  std::shared_ptr<CapturePartition> output;
  std::unique_ptr<StreamTask> task;

 private:
  struct WithoutTask {};
  Harness(const TestJob::Options& options, WithoutTask);
  void connect(const TestJob::Options& options);
};

/// Decides as a task does whose decisions nobody records: it takes many records at once.
struct FastHarness : Harness {
  explicit FastHarness(const TestJob::Options& options);
};

}  // namespace freshet::task_test
