#include "jobmanager/restart_backoff.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>

namespace freshet {

namespace {

class NoRestart final : public RestartBackoff {
 public:
  Decision on_failure(TimePoint) override { return {false, true, Duration::zero()}; }
  std::string describe() const override { return "none: no restart is allowed"; }
};

class FixedDelay final : public RestartBackoff {
 public:
  FixedDelay(int64_t attempts, Duration delay) : attempts_(attempts), delay_(delay) {}

  Decision on_failure(TimePoint) override {
    failures_++;
    return {failures_ <= attempts_, true, delay_};
  }
  std::string describe() const override {
    return fmt::format("fixed-delay: {} restarts were allowed", attempts_);
  }

 private:
  const int64_t attempts_;
  const Duration delay_;
  int64_t failures_ = 0;
};

/// Refuses when more than `max` failures lie within one interval, this one included.
class FailureRate final : public RestartBackoff {
 public:
  FailureRate(int64_t max, Duration interval, Duration delay)
      : max_(static_cast<size_t>(max)), interval_(interval), delay_(delay) {}

  Decision on_failure(TimePoint now) override {
    while (!failures_.empty() && now - failures_.front() > interval_) failures_.pop_front();
    if (failures_.size() >= max_) return {false, true, delay_};
    failures_.push_back(now);
    return {true, true, delay_};
  }
  std::string describe() const override {
    return fmt::format("failure-rate: {} failures in {} were allowed", max_,
                       format_duration(interval_));
  }

 private:
  const size_t max_;
  const Duration interval_;
  const Duration delay_;
  std::deque<TimePoint> failures_;  // Within the interval; at most max_.
};

/// The algorithm of Flink's FLIP-364: failures up to the time of the next restart belong to it.
class ExponentialDelay final : public RestartBackoff {
 public:
  struct Options {
    Duration initial;
    Duration max;
    double multiplier;
    Duration reset_threshold;
    double jitter;
    int64_t attempts_max;
  };
  ExponentialDelay(const Options& options, Random& random)
      : options_(options), random_(random), next_delay_(options.initial) {}

  Decision on_failure(TimePoint now) override {
    if (next_restart_ && now <= *next_restart_) {
      return {attempts_ <= options_.attempts_max, false, *next_restart_ - now};
    }
    if (next_restart_ && now - *next_restart_ >= options_.reset_threshold) {
      attempts_ = 0;
      next_delay_ = options_.initial;
    }
    const Duration delay = with_jitter(next_delay_);
    next_restart_ = now + delay;
    attempts_++;
    next_delay_ = grown(next_delay_);
    return {attempts_ <= options_.attempts_max, true, delay};
  }

  std::string describe() const override {
    return fmt::format("exponential-delay: {} restarts without {} of calm were allowed",
                       options_.attempts_max, format_duration(options_.reset_threshold));
  }

 private:
  Duration grown(Duration delay) const {
    const double product = static_cast<double>(delay.count()) * options_.multiplier;
    const double floor = static_cast<double>(kExponentialFloor.count());
    const double limit = static_cast<double>(options_.max.count());
    const double wanted = delay == Duration::zero() ? floor : product;
    return Duration(static_cast<int64_t>(std::min(wanted, limit)));
  }

  Duration with_jitter(Duration delay) {
    if (delay == Duration::zero()) return delay;
    const double factor = 1.0 + options_.jitter * (2.0 * random_.real() - 1.0);
    const Duration moved(static_cast<int64_t>(static_cast<double>(delay.count()) * factor));
    return std::clamp(moved, options_.initial, options_.max);
  }

  const Options options_;
  Random& random_;
  int64_t attempts_ = 0;
  Duration next_delay_;
  std::optional<TimePoint> next_restart_;
};

Result<std::unique_ptr<RestartBackoff>> make_fixed_delay(const Configuration& c) {
  ASSIGN_OR_RETURN(const int64_t attempts, c.integer(config::kFixedDelayAttempts));
  ASSIGN_OR_RETURN(const Duration delay, c.duration(config::kFixedDelayDelay));
  return std::unique_ptr<RestartBackoff>(std::make_unique<FixedDelay>(attempts, delay));
}

Result<std::unique_ptr<RestartBackoff>> make_failure_rate(const Configuration& c) {
  ASSIGN_OR_RETURN(const int64_t max, c.integer(config::kFailureRateMax));
  ASSIGN_OR_RETURN(const Duration interval, c.duration(config::kFailureRateInterval));
  ASSIGN_OR_RETURN(const Duration delay, c.duration(config::kFailureRateDelay));
  return std::unique_ptr<RestartBackoff>(std::make_unique<FailureRate>(max, interval, delay));
}

Result<std::unique_ptr<RestartBackoff>> make_exponential_delay(const Configuration& c,
                                                               Random& random) {
  ExponentialDelay::Options options;
  ASSIGN_OR_RETURN(options.initial, c.duration(config::kExponentialInitial));
  ASSIGN_OR_RETURN(options.max, c.duration(config::kExponentialMax));
  ASSIGN_OR_RETURN(options.multiplier, c.real(config::kExponentialMultiplier));
  ASSIGN_OR_RETURN(options.reset_threshold, c.duration(config::kExponentialReset));
  ASSIGN_OR_RETURN(options.jitter, c.real(config::kExponentialJitter));
  ASSIGN_OR_RETURN(options.attempts_max, c.integer(config::kExponentialAttempts));
  if (options.initial > options.max) {
    return invalid_argument(
        fmt::format("{}: '{}' is longer than {}, which is '{}'", config::kExponentialInitial.name,
                    c.text(config::kExponentialInitial), config::kExponentialMax.name,
                    c.text(config::kExponentialMax)));
  }
  return std::unique_ptr<RestartBackoff>(std::make_unique<ExponentialDelay>(options, random));
}

}  // namespace

Result<std::unique_ptr<RestartBackoff>> make_restart_backoff(const Configuration& configuration,
                                                             Random& random) {
  const std::string type = configuration.text(config::kRestartStrategy);
  if (type == "none") return std::unique_ptr<RestartBackoff>(std::make_unique<NoRestart>());
  if (type == "fixed-delay") return make_fixed_delay(configuration);
  if (type == "failure-rate") return make_failure_rate(configuration);
  if (type == "exponential-delay") return make_exponential_delay(configuration, random);
  return invalid_argument(
      fmt::format("{}: '{}' is not none, fixed-delay, failure-rate or exponential-delay",
                  config::kRestartStrategy.name, type));
}

}  // namespace freshet
