#pragma once

#include <memory>
#include <string>

#include "runtime/base/configuration.h"
#include "runtime/base/random.h"
#include "runtime/base/time.h"

namespace freshet {

/// Decides whether a failed job is restarted, and when. Pure: time and chance are handed in. One
/// per job.
class RestartBackoff {
 public:
  struct Decision {
    bool restart = false;
    bool new_round = false;  // False: merged with the failure before, which counts for both.
    Duration delay{};        // From now; never negative.
  };

  virtual ~RestartBackoff() = default;

  /// One failure, after those that fell with it were merged. `now` never goes back.
  virtual Decision on_failure(TimePoint now) = 0;

  /// For people, after a refusal: `fixed-delay: 3 restarts were allowed`.
  virtual std::string describe() const = 0;
};

/// Growth of the wait under exponential-delay starts here when the first one is 0.
inline constexpr Duration kExponentialFloor = 100ms;

/// The strategy named by `restart-strategy.type`; a value that makes no sense is kInvalidArgument
/// and names its key. `random` is used for jitter.
Result<std::unique_ptr<RestartBackoff>> make_restart_backoff(const Configuration&, Random& random);

}  // namespace freshet
