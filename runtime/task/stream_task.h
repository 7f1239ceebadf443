#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/faults.h"
#include "runtime/base/running_code.h"
#include "runtime/graph/buffer_timeout.h"
#include "runtime/graph/job_graph.h"
#include "runtime/graph/job_module.h"
#include "runtime/graph/provoked_failure.h"
#include "runtime/task/decisions.h"
#include "runtime/task/flush_timer.h"
#include "runtime/task/operator_chain.h"
#include "runtime/task/operator_memory.h"
#include "runtime/task/record_writer.h"
#include "runtime/task/runnable_task.h"
#include "runtime/task/step_pace.h"
#include "runtime/task/task_progress.h"
#include "runtime/task/task_times.h"
#include "runtime/task/watermark_valve.h"

namespace freshet {

/// One attempt of one subtask: takes elements from its gates, runs its operators, writes to its
/// partitions. All user code of a task runs in step(). It goes through INITIALIZING, RUNNING,
/// END_OF_DATA; there it stays, so that consumers can read on, until request_finish() or
/// request_cancel(). In a terminal state it holds no buffer any more.
///
/// Inside an element it never waits for output; before each one it asks whether there is space, and
/// has its outputs pay back what they spilled.
class StreamTask final : public RunnableTask {
 public:
  struct Options {
    AttemptId attempt;
    std::shared_ptr<const JobGraph> graph;
    std::shared_ptr<const BuiltJob> built;
    std::map<std::string, std::string> settings;  // Of the job.
  };
  struct Environment {
    const Clock& clock;
    FileSystem& files;
    Faults* faults = nullptr;  // Null: none, and they cost nothing.
    std::shared_ptr<TaskListener> listener;
    OperatorMemory memory{};
  };

  StreamTask(Options, Environment, std::unique_ptr<Decisions>);

  /// Closes and releases what a task that was dropped in the middle still holds.
  ~StreamTask() override;

  /// Before the first step: one gate per input edge and one partition per output edge of the
  /// vertex, in the order of their ids. All are released by the task.
  void connect(std::vector<std::shared_ptr<InputGate>> gates,
               std::vector<std::shared_ptr<ResultPartition>> partitions);

  StepResult step() override;
  bool blocking() const override { return vertex_.blocking; }

  // Mail: on any thread; the caller wakes the task afterwards. Looked at before anything else.
  void request_cancel() {
    mail_.fetch_or(kCancel);
    cancelled_.store(true, std::memory_order_release);  // Whoever sees it finds the mail.
  }
  void request_finish() { mail_.fetch_or(kFinish); }
  void request_flush() { mail_.fetch_or(kFlush); }
  /// For experiments.
  void request_failure(ProvokedFailure failure) {
    provoked_.store(failure);
    mail_.fetch_or(kProvoked);
  }
  /// The time that on_timer_wanted() asked for has passed.
  void on_timer() { mail_.fetch_or(kTimer); }

  /// True when a flush by time would send something. On any thread.
  bool wants_flush() const { return wants_flush_.load(std::memory_order_relaxed); }

  /// Longest wait of a record in an output that is flushed by time; nullopt when there is no such
  /// output.
  std::optional<Duration> flush_interval() const;

  /// Counts as of the last step, times as of now. On any thread.
  TaskProgress progress() const;
  /// On any thread, once it is connected.
  TaskLoad load() const;
  /// Of its sink; null without one, or without `source.generator.schedule-start`. On any thread.
  const LatencyMeter* latency() const { return latency_.get(); }
  /// When the step that is going on began, on any thread; nullopt between steps.
  std::optional<TimePoint> step_began() const { return times_.step_began(); }
  /// The operator that runs now, on any thread; empty: none of them.
  std::string running_operator() const;

  const AttemptId& attempt() const { return options_.attempt; }

 private:
  enum Mail : uint32_t { kCancel = 1, kFinish = 2, kFlush = 4, kTimer = 8, kProvoked = 16 };
  enum Counter {
    kRecordsIn,
    kRecordsOut,
    kBytesIn,
    kBytesOut,
    kBuffersOut,
    kSourceRecords,
    kLocalBuffersIn,
    kLocalBytesIn,
    kRemoteBuffersIn,
    kRemoteBytesIn,
    kInitializationNanos,
    kInputsRead,  // Bits.
    kCounters
  };
  enum class Phase : uint8_t { kProcess, kFinish, kDrain };  // Of kRunning.

  struct Input {
    std::shared_ptr<InputGate> gate;
    std::shared_ptr<const EdgeType> type;
    std::unique_ptr<RecordReader> reader;
    RecordReceiver* receiver = nullptr;
    std::unique_ptr<PacedReceiver> paced;  // The same, for many at once.
    uint32_t head_input = 0;
    uint32_t producers = 0;
  };
  struct Output {
    DatasetId dataset;
    std::shared_ptr<ResultPartition> partition;
    std::shared_ptr<const EdgeType> type;
    std::unique_ptr<RecordWriter> writer;
    uint64_t timeout_ms = 0;
    bool flush_every_step = false;
    FlushTimer flush_timer;

    Duration timeout() const {
      return std::chrono::milliseconds(std::min(timeout_ms, kBufferTimeoutMsMax));
    }
  };

  /// For the disk, since the last call.
  Duration take_waited() {
    Duration all{};
    for (const Output& output : outputs_) all += output.partition->waited();
    const Duration waited = std::max(all - waited_, Duration{});  // What is released forgets.
    waited_ = all;
    return waited;
  }
  StepResult step_guarded();
  StepResult work();
  bool take_mail();
  void fail_as_provoked(ProvokedFailure);
  void initialize();
  Status open_inputs_and_outputs();
  bool can_emit();
  bool owes() const;
  bool all_handed_over();
  Offers offers() const;
  /// Returns how many elements it took, at least 1.
  uint32_t act(const Decision&);
  uint32_t take_element(const Decision&);
  uint32_t take_run(const Decision&);
  void take_event(const Decision&, const Element&);
  void end_gate(uint32_t input);
  void advance_event_time(std::optional<EpochMillis>);
  /// Returns how many records it emitted, at least 1.
  uint32_t poll_source(uint32_t records_max);
  void want_timer();
  void end_processing();
  void finish_some();
  void end_outputs();
  void reach_end_of_data();
  void end_when_drained();
  bool fail_by_status();
  void broadcast(ElementKind kind, std::string_view payload);

  void end_step_outside();
  void count_elements();
  void fail(Status cause, std::string operator_name);
  std::string failed_operator() const;
  std::string failed_element() const;
  void fail_by_user(std::string what);
  bool fail_by_output();
  void end_code();
  void release();
  void move_to(TaskState, TaskStateChange = {});

  const Options options_;
  const Environment environment_;
  const JobVertex& vertex_;
  const std::unique_ptr<Decisions> decisions_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  std::vector<InputGate*> open_gates_;  // As Offers wants them.
  RunningCode running_;
  std::unique_ptr<OperatorChain> chain_;
  WatermarkValve valve_{{}};
  bool sent_active_ = true;
  bool end_run_ = false;       // Some output became unavailable, or the step's time is over.
  bool pays_back_ = false;     // And there is memory for more of what it owes.
  Duration waited_{};          // Of all outputs, for the disk.
  bool took_nothing_ = false;  // In this step, for want of space.

  TaskState state_ = TaskState::kDeploying;
  Phase phase_ = Phase::kProcess;
  bool poll_due_ = false;
  std::optional<PollWait> poll_wait_;  // When not due.
  bool timer_wanted_ = false;          // And not come yet.
  size_t gates_open_ = 0;
  std::vector<CommittableBytes> committables_;
  std::optional<Decision> element_;  // Being processed.
  bool polling_ = false;
  bool released_ = false;

  std::atomic<uint32_t> mail_{0};
  std::atomic<ProvokedFailure> provoked_{};  // With kProvoked.
  std::atomic<bool> wants_flush_{false};
  bool flush_due_ = false;              // At the end of this step.
  std::atomic<bool> cancelled_{false};  // Also asked within an element.

  StepPace pace_;
  bool last_blocked_ = false;
  TaskTimes times_;
  std::array<std::atomic<uint64_t>, kCounters> counters_{};
  std::unique_ptr<LatencyMeter> latency_;  // Null: nothing is measured.
};

}  // namespace freshet
