#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/graph/job_graph.h"
#include "runtime/graph/job_module.h"
#include "runtime/operators/operator.h"
#include "runtime/task/decisions.h"
#include "runtime/task/latency_meter.h"
#include "runtime/task/operator_memory.h"

namespace freshet {

/// The operators of one task, joined so that what one emits is processed by the next at once. What
/// user code throws comes out of the functions here; Options::running then says whose it was.
class OperatorChain {
 public:
  using OperatorName = std::atomic<const std::string*>;

  struct Options {
    AttemptId attempt;
    const JobVertex& vertex;
    const JobGraph& graph;
    const BuiltJob& built;
    const std::map<std::string, std::string>& settings;
    FileSystem& files;
    Decisions& decisions;
    OperatorName& running;  // Of the operator whose code runs; null: of none.
    const OperatorMemory& memory;
    const std::atomic<bool>& cancelled;
    LatencyMeter* latency = nullptr;  // Of sinks; null: it is not measured.
  };

  /// `writers`: where the outputs that leave the task go, by dataset; they outlive the chain, as do
  /// the options.
  OperatorChain(const Options&, std::map<DatasetId, RecordReceiver*> writers);
  ~OperatorChain();

  /// Makes all operators, then opens them, the last first. kInvalidArgument when the module lacks
  /// what the graph names.
  Status open();

  /// Takes records of one input of the head.
  RecordReceiver& input(uint32_t input);

  void end_input(uint32_t input);
  void on_watermark(EpochMillis event_time);

  /// Null when the head is no source.
  SourceOperator* source() const { return source_; }
  PollResult poll(uint32_t records_max);

  /// The task has nothing to do for now.
  void on_idle();

  /// When the last poll() asked to be repeated; none when it did not.
  std::optional<EpochMillis> wake_at() const { return wake_at_; }

  /// One batch of what operators emit at their end, in the order of the chain. True when all are
  /// done.
  bool finish_some();
  std::vector<CommittableBytes> prepare_commit();

  /// Closes every operator that was made, once; never throws.
  void close();

  uint64_t source_records() const;

 private:
  class Context;
  class Input;
  class Fanout;
  struct Member;

  Status make_member(size_t index);
  void decide_memory();
  RecordReceiver* receiver_of(size_t index, uint32_t output);
  Input& input_of(size_t index, uint32_t input);
  void begin_finish(size_t index);
  template <class Call>
  auto guarded(size_t index, Call call);

  const Options options_;
  const std::map<DatasetId, RecordReceiver*> writers_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<std::unique_ptr<RecordReceiver>> receivers_;
  SourceOperator* source_ = nullptr;
  bool collects_ = false;      // Some operator.
  uint64_t memory_bytes_ = 0;  // That each of those may take.
  std::optional<EpochMillis> wake_at_;
  size_t finishing_ = 0;  // The operator whose end it is.
  bool finish_begun_ = false;
  bool closed_ = false;
};

}  // namespace freshet
