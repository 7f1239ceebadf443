#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/file_system.h"
#include "runtime/base/ids.h"
#include "runtime/base/key_groups.h"
#include "runtime/base/status.h"
#include "runtime/graph/publication.h"
#include "runtime/operators/edge_type.h"
#include "state/spill_space.h"

namespace freshet {

/// What an operator may know of the task it runs in. Lives as long as the operator; belongs to the
/// task's thread. Everything that could differ between two executions passes through here and is
/// recorded as a decision.
class OperatorContext {
 public:
  virtual ~OperatorContext() = default;

  virtual uint32_t subtask() const = 0;
  virtual uint32_t parallelism() const = 0;
  virtual uint32_t max_parallelism() const = 0;
  virtual const AttemptId& attempt() const = 0;  // For names of files; must not influence results.
  virtual OperatorId operator_id() const = 0;
  virtual const std::string& operator_name() const = 0;

  /// How many subtasks get what an output gives; 0: nobody.
  virtual uint32_t consumers(uint32_t /*output*/) const { return 1; }
  /// False when nothing is connected to an input.
  virtual bool has_input(uint32_t /*input*/) const { return true; }

  /// Wall-clock time; changes only between elements.
  virtual EpochMillis processing_time() const = 0;

  /// A random number; recorded.
  virtual uint64_t random() = 0;

  /// Runs `ask`, which may look at the world outside (directories, services), and records its
  /// answer; when the task is executed again, the recorded answer is returned and `ask` is not run.
  /// `ask` may throw.
  virtual std::string external(const std::string& what,
                               const std::function<std::string()>& ask) = 0;

  /// For a source whose poll() is about to return kWaiting: it is polled again when
  /// processing_time() reaches `time`, or earlier: when an element comes in, and when the clock
  /// went back. Holds for one poll; the last call counts.
  virtual void wake_at(EpochMillis time) = 0;

  virtual FileSystem& files() = 0;

  /// In a batch job, for an operator whose factory says that it uses it: the memory that it may
  /// take for what it collects, and where to put the rest. Else null: what it remembers is state,
  /// which is kept elsewhere.
  virtual SpillSpace* spill_space() { return nullptr; }

  /// A setting of the job; empty when not set and without default.
  virtual std::string setting(const std::string& name) const = 0;
};

/// Leaves something to be published when the whole job has reached its end.
struct CommittableBytes {
  OperatorId operator_id;
  std::string payload;
};

/// User code with a type-erased skin. Called by one thread at a time, in this order:
/// open, (process | poll | watermark)*, end_input per input, finish, [prepare_commit], close. What
/// it throws fails its task, with the operator's name, and has the job restarted, unless it is a
/// PermanentFailure. close() is called in every case, also after a failure.
class Operator {
 public:
  virtual ~Operator() = default;

  /// `outputs[i]` receives what output i emits; all outlive the operator.
  virtual void open(OperatorContext& context, std::vector<RecordReceiver*> outputs) = 0;

  /// One record of input `input`.
  virtual void process(uint32_t input, const void* record, EpochMillis timestamp) = 0;

  /// The same for each of a batch, in order; `begun` is raised before each.
  virtual void process_batch(uint32_t input, RecordBatch& batch) {
    while (batch.begun < batch.count) {
      const uint32_t i = batch.begun++;
      process(input, batch.records[i], batch.timestamps[i]);
    }
  }

  /// Event time reached `watermark` on all channels of all inputs. Forwarding it is the task's
  /// business.
  virtual void on_watermark(EpochMillis /*watermark*/) {}

  /// The task has nothing to do for now: what is held back to leave in larger pieces should leave.
  /// Comes at any time, also when the task is executed again at other times; must not emit.
  virtual void on_idle() {}

  /// No record of this input comes any more.
  virtual void end_input(uint32_t /*input*/) {}

  /// All inputs have ended: emit what is left, in bounded batches. True when done; false: call
  /// again, after outputs were drained.
  virtual bool finish() { return true; }

  /// After finish(), of sinks only: what is to be published when the job is done.
  virtual std::vector<std::string> prepare_commit() { return {}; }

  /// Releases what it holds; must not throw.
  virtual void close() {}

  /// Records emitted or taken so far by a source, for progress. Others: 0.
  virtual uint64_t source_records() const { return 0; }
};

enum class PollResult : uint8_t {
  kMore,     // There is or may be more at once.
  kWaiting,  // Nothing until the next input element (a split) comes, or the time of wake_at().
  kEnded,    // Nothing ever again.
};

/// An operator that makes records of itself. Its input 0 brings splits; output 1, if it has one,
/// asks for them.
class SourceOperator : public Operator {
 public:
  /// Emits at most `max_records`, then returns. May emit fewer. Never blocks, unless the operator
  /// was declared blocking.
  virtual PollResult poll(uint32_t max_records) = 0;

  /// False while a split is being read: then no further input element is given to it, which keeps
  /// the order of its work independent of when splits arrive.
  virtual bool wants_input() const = 0;
};

/// Publishes what sinks left. May be made without any operator running, in any TaskManager of the
/// job.
class Committer {
 public:
  virtual ~Committer() = default;

  /// Idempotent: the same payload may come again after it was done or half done, also elsewhere.
  /// May block.
  virtual Status commit(const std::string& payload, FileSystem&) = 0;
};

/// Makes the parts of one operator. Immutable, shared by all its subtasks; thread-safe.
class OperatorFactory {
 public:
  virtual ~OperatorFactory() = default;

  virtual std::unique_ptr<Operator> make() const = 0;

  /// True when its operators want OperatorContext::spill_space().
  virtual bool uses_spill_space() const { return false; }

  /// True when make() gives a SourceOperator.
  virtual bool is_source() const { return false; }

  /// What one operator of a job must have for itself, for people: `output '/data/counts'`. Empty:
  /// nothing. A job in which two operators name the same is refused before it starts.
  virtual std::string owned() const { return {}; }

  /// Of a sink: when and where others see what it takes.
  virtual Publication publication() const { return {}; }

  /// Null for operators that publish nothing.
  virtual std::unique_ptr<Committer> make_committer() const { return nullptr; }

  /// Before a task of this operator starts, in the TaskManager of its subtask 0; with each
  /// deployment of the job until all tasks of one have run: things such as "the output directory
  /// exists". What the job itself left is no reason to refuse. Tasks elsewhere may have started.
  /// May block.
  virtual Status check(const JobId&, FileSystem&) const { return Status(); }

  /// After the job has ended in whatever way, in every TaskManager that ran one of these operators:
  /// removes what its attempts left unpublished. Another job may use the same places meanwhile.
  /// Idempotent; may block.
  virtual void clean_up(const JobId&, FileSystem&) const {}
};

}  // namespace freshet
