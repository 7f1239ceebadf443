#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/time.h"

namespace freshet {

/// A documented setting: the one place with its name, default and meaning. Defined in
/// configuration.cc.
struct ConfigKey {
  std::string_view name;           // Flink's, where the thing is the same.
  std::string_view default_value;  // As a user would write it.
  std::string_view meaning;
};

namespace config {
extern const ConfigKey kTaskSlots, kNetworkMemory, kSegmentBytes, kGateBudget, kBufferTimeout,
    kHeartbeatInterval, kHeartbeatTimeout, kSlotTimeout, kWorkerThreads, kBindHost, kRpcPort,
    kDataPort, kSecret, kRestartStrategy, kFixedDelayAttempts, kFixedDelayDelay, kFailureRateMax,
    kFailureRateInterval, kFailureRateDelay, kExponentialInitial, kExponentialMax,
    kExponentialMultiplier, kExponentialReset, kExponentialJitter, kExponentialAttempts,
    kChannelHash, kTestFaults, kCancellationTimeout, kSplitBytes, kWorkingDirectory;
}  // namespace config

/// Every known key, sorted by name.
const std::vector<const ConfigKey*>& config_keys();

/// Settings of a process or a job: names to texts. Reading one that was not set gives its default;
/// a value that does not parse is kInvalidArgument and names the key. Values copy;
/// thread-compatible.
class Configuration {
 public:
  /// Refuses an unknown name, and says which known one is nearest.
  Status set(const std::string& name, std::string value);
  /// From `key=value`, as after -D.
  Status set_pair(const std::string& pair);

  bool has(const ConfigKey&) const;
  std::string text(const ConfigKey&) const;
  Result<int64_t> integer(const ConfigKey&, int64_t minimum, int64_t maximum) const;
  Result<double> real(const ConfigKey&, double minimum, double maximum) const;
  Result<bool> boolean(const ConfigKey&) const;
  Result<Duration> duration(const ConfigKey&) const;
  /// `64 mb`, `32kb`, `512`; binary units.
  Result<uint64_t> bytes(const ConfigKey&, uint64_t minimum, uint64_t maximum) const;

  const std::map<std::string, std::string>& values() const { return values_; }

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace freshet
