#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/random.h"
#include "runtime/base/status.h"
#include "runtime/task/decision_log.h"
#include "shuffle/input_gate.h"

namespace freshet {

/// A source asked at `since` to be polled at `until`; a clock that goes back ends the wait.
struct PollWait {
  EpochMillis since = 0;
  EpochMillis until = 0;

  bool over(EpochMillis now) const { return now >= until || now < since; }
};

/// What a task could do next.
struct Offers {
  const std::vector<InputGate*>* gates = nullptr;  // Null entries have ended already.
  bool elements = false;                           // Elements and ends of gates are wanted.
  bool poll = false;                               // The source has or may have more,
  uint32_t poll_records = 1;                       // so many at once.
  std::optional<PollWait> poll_wait{};             // Otherwise: until when it has nothing.
  bool finish = false;  // All data was seen; the next batch of the end is due.
};

/// Every choice of a task passes here: what it does next, what time it is, random numbers, what the
/// world outside answered. So a task can be executed again and do the same. Time stands still while
/// an element is processed. What does not change what a task emits is no decision: when buffers are
/// flushed, when it is stepped or cancelled.
///
/// Belongs to its task's thread.
class Decisions {
 public:
  virtual ~Decisions() = default;

  /// What to do next: kElement, kPoll, kEndInput or kFinish, one of the offers. Nullopt: nothing
  /// now.
  virtual std::optional<Decision> next(const Offers&) = 0;

  /// How many records of one channel may follow a kElement without being asked for: none unless
  /// nobody needs to know of each.
  virtual uint32_t run_max() const { return 1; }

  /// Between two pieces of work: the time may change.
  virtual void tick() = 0;

  /// A number from all of 64 bits.
  virtual uint64_t random() = 0;

  /// What `ask` answers or answered. `ask` may throw.
  virtual std::string external(const std::function<std::string()>& ask) = 0;

  /// Not ok when the task can no longer be executed as decided.
  virtual Status status() const { return Status(); }

  /// Wall-clock time as of the last tick.
  EpochMillis processing_time() const { return processing_time_; }

  /// Uniform in [0, bound); bound > 0.
  uint32_t random_below(uint32_t bound) {
    return static_cast<uint32_t>((static_cast<unsigned __int128>(random()) * bound) >> 64);
  }

 protected:
  bool may_poll(const Offers& offers) const {
    return offers.poll || (offers.poll_wait && offers.poll_wait->over(processing_time_));
  }

  EpochMillis processing_time_ = 0;
};

/// Decides fairly: inputs in turns, channels of an input in turns, input and source in turns. Each
/// decision is in the log, if there is one, before it is returned.
class LiveDecisions final : public Decisions {
 public:
  LiveDecisions(const Clock& clock, std::unique_ptr<Random> random, DecisionLog* log)
      : clock_(clock), random_(std::move(random)), log_(log) {}

  std::optional<Decision> next(const Offers&) override;
  uint32_t run_max() const override { return log_ == nullptr ? kRunMax : 1; }
  void tick() override;
  uint64_t random() override;
  std::string external(const std::function<std::string()>& ask) override;

 private:
  static constexpr uint32_t kRunMax = 512;  // Mail waits as long.

  std::optional<Decision> next_element(const std::vector<InputGate*>& gates);
  Decision logged(const Decision& decision) {
    if (log_ != nullptr) log_->append(decision);
    return decision;
  }

  const Clock& clock_;
  const std::unique_ptr<Random> random_;
  DecisionLog* const log_;
  size_t turn_ = 0;  // The gate that is asked first.
  bool polled_last_ = false;
};

/// Decides as a log says. Waits, by deciding nothing, for an element that is not there yet; decides
/// nothing any more at the end of the log. `log` must outlive it.
class ReplayingDecisions final : public Decisions {
 public:
  explicit ReplayingDecisions(std::string_view log) : log_(log) {}

  std::optional<Decision> next(const Offers&) override;
  void tick() override;
  uint64_t random() override;
  std::string external(const std::function<std::string()>& ask) override;

  /// kDataLoss when the log is damaged or the task asked for something else than the log has.
  Status status() const override;

  /// True when every decision was used.
  bool exhausted() const { return !log_.peek().has_value(); }

  /// True when every decision was used, but perhaps for a last one, on which the task died before
  /// it acted.
  bool only_last_left() const;

 private:
  bool possible(const Decision&, const Offers&);
  std::optional<Decision> expect(DecisionKind);

  DecisionLogReader log_;
  std::vector<uint32_t> ready_;
  Status diverged_;
};

}  // namespace freshet
