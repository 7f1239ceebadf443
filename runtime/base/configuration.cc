#include "runtime/base/configuration.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace freshet {

namespace config {
const ConfigKey kTaskSlots{"taskmanager.numberOfTaskSlots", "1", "slots that a TaskManager offers"};
const ConfigKey kNetworkMemory{"taskmanager.memory.network.size", "64 mb",
                               "segment pool of a TaskManager"};
const ConfigKey kSegmentBytes{"taskmanager.memory.segment-size", "32 kb",
                              "largest buffer; power of two, 4 kb to 1 mb"};
const ConfigKey kGateBudget{"taskmanager.network.memory.gate-budget", "4 mb",
                            "bytes that may be in flight to one input gate"};
const ConfigKey kBufferTimeout{"execution.buffer-timeout.interval", "100 ms",
                               "longest wait of a record in an unfilled buffer; 0: none"};
const ConfigKey kHeartbeatInterval{"heartbeat.interval", "1 s",
                                   "between two heartbeats of a TaskManager"};
const ConfigKey kHeartbeatTimeout{"heartbeat.timeout", "10 s",
                                  "silence after which the other side is taken for dead"};
const ConfigKey kSlotTimeout{"slot.request.timeout", "10 s", "longest wait of a job for its slots"};
const ConfigKey kWorkerThreads{"taskmanager.worker-threads", "0",
                               "threads that run tasks; 0: one per core"};
const ConfigKey kBindHost{
    "bind-host", "127.0.0.1",
    "address that ports are bound to; beyond loopback only with security.secret"};
const ConfigKey kRpcPort{"jobmanager.rpc.port", "6123",
                         "control port of the JobManager; 0: any free one"};
const ConfigKey kDataPort{"taskmanager.data.port", "0",
                          "data port of a TaskManager; 0: any free one"};
const ConfigKey kSecret{
    "security.secret", "",
    "shared secret that every peer must know; also from the environment variable FRESHET_SECRET"};
const ConfigKey kRestartStrategy{"restart-strategy.type", "exponential-delay",
                                 "none, fixed-delay, failure-rate or exponential-delay"};
const ConfigKey kFixedDelayAttempts{"restart-strategy.fixed-delay.attempts", "1",
                                    "restarts before the job fails"};
const ConfigKey kFixedDelayDelay{"restart-strategy.fixed-delay.delay", "1 s",
                                 "wait before a restart"};
const ConfigKey kFailureRateMax{"restart-strategy.failure-rate.max-failures-per-interval", "1",
                                "failures in the interval that are still restarted"};
const ConfigKey kFailureRateInterval{"restart-strategy.failure-rate.failure-rate-interval", "1 min",
                                     "in which failures are counted"};
const ConfigKey kFailureRateDelay{"restart-strategy.failure-rate.delay", "1 s",
                                  "wait before a restart"};
const ConfigKey kExponentialInitial{"restart-strategy.exponential-delay.initial-backoff", "0 ms",
                                    "wait before the first restart"};
const ConfigKey kExponentialMax{"restart-strategy.exponential-delay.max-backoff", "1 min",
                                "longest wait before a restart"};
const ConfigKey kExponentialMultiplier{"restart-strategy.exponential-delay.backoff-multiplier",
                                       "1.5", "growth of the wait per restart"};
const ConfigKey kExponentialReset{"restart-strategy.exponential-delay.reset-backoff-threshold",
                                  "1 h", "calm after which the wait starts anew"};
const ConfigKey kExponentialJitter{"restart-strategy.exponential-delay.jitter-factor", "0.1",
                                   "random part of the wait, either way"};
const ConfigKey kExponentialAttempts{
    "restart-strategy.exponential-delay.attempts-before-reset-backoff", "10",
    "restarts without calm between them before the job fails"};
const ConfigKey kChannelHash{
    "execution.channel-hash.enabled", "false",
    "rolling hash over the elements of every channel, checked by the receiver"};
const ConfigKey kTestFaults{"test.faults", "",
                            "<mark>:<n>:<kill|stop|throw|delay>,...; only with --allow-faults"};
const ConfigKey kCancellationTimeout{
    "task.cancellation.timeout", "30 s",
    "after which a TaskManager with a task that does not end is ended"};
const ConfigKey kSplitBytes{"source.file.split-size", "8 mb",
                            "largest byte range of a text file that one reader takes at a time"};
const ConfigKey kWorkingDirectory{"client.working-directory", "",
                                  "what a job's relative paths are relative to; set by the client"};
}  // namespace config

const std::vector<const ConfigKey*>& config_keys() {
  using namespace config;
  static const std::vector<const ConfigKey*> keys = [] {
    std::vector<const ConfigKey*> all = {&kTaskSlots,
                                         &kNetworkMemory,
                                         &kSegmentBytes,
                                         &kGateBudget,
                                         &kBufferTimeout,
                                         &kHeartbeatInterval,
                                         &kHeartbeatTimeout,
                                         &kSlotTimeout,
                                         &kWorkerThreads,
                                         &kBindHost,
                                         &kRpcPort,
                                         &kDataPort,
                                         &kSecret,
                                         &kRestartStrategy,
                                         &kFixedDelayAttempts,
                                         &kFixedDelayDelay,
                                         &kFailureRateMax,
                                         &kFailureRateInterval,
                                         &kFailureRateDelay,
                                         &kExponentialInitial,
                                         &kExponentialMax,
                                         &kExponentialMultiplier,
                                         &kExponentialReset,
                                         &kExponentialJitter,
                                         &kExponentialAttempts,
                                         &kChannelHash,
                                         &kTestFaults,
                                         &kCancellationTimeout,
                                         &kSplitBytes,
                                         &kWorkingDirectory};
    std::sort(all.begin(), all.end(),
              [](const ConfigKey* a, const ConfigKey* b) { return a->name < b->name; });
    return all;
  }();
  return keys;
}

namespace {

/// How much must be changed in `a` to make it `b`, or the beginning of `b`, which counts a little
/// more: names are long, and people leave out their ends.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); j++) row[j] = j;
  for (size_t i = 1; i <= a.size(); i++) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); j++) {
      const size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return std::min(3 * row[b.size()], 3 * *std::min_element(row.begin(), row.end()) + 1);
}

Status bad_value(const ConfigKey& key, const std::string& value, const std::string& wanted) {
  return invalid_argument(fmt::format("{}: '{}' is not {}", key.name, value, wanted));
}

}  // namespace

Status Configuration::set(const std::string& name, std::string value) {
  const ConfigKey* nearest = nullptr;
  size_t best = ~size_t{0};
  for (const ConfigKey* key : config_keys()) {
    if (key->name == name) {
      values_[name] = std::move(value);
      return Status();
    }
    const size_t distance = edit_distance(name, key->name);
    if (distance < best) best = distance, nearest = key;
  }
  return invalid_argument(
      fmt::format("no setting is called '{}'; did you mean '{}'?", name, nearest->name));
}

Status Configuration::set_pair(const std::string& pair) {
  const size_t equals = pair.find('=');
  if (equals == pair.npos || equals == 0)
    return invalid_argument("'" + pair + "' is not key=value");
  return set(pair.substr(0, equals), pair.substr(equals + 1));
}

bool Configuration::has(const ConfigKey& key) const {
  return values_.contains(std::string(key.name));
}

std::string Configuration::text(const ConfigKey& key) const {
  const auto it = values_.find(std::string(key.name));
  return it != values_.end() ? it->second : std::string(key.default_value);
}

Result<int64_t> Configuration::integer(const ConfigKey& key, int64_t minimum,
                                       int64_t maximum) const {
  const std::string value = text(key);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || number < minimum ||
      number > maximum) {
    return bad_value(key, value, fmt::format("a whole number from {} to {}", minimum, maximum));
  }
  return number;
}

Result<double> Configuration::real(const ConfigKey& key, double minimum, double maximum) const {
  const std::string value = text(key);
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  if (value.empty() || *end != '\0' || !std::isfinite(number) || number < minimum ||
      number > maximum) {
    return bad_value(key, value, fmt::format("a number from {} to {}", minimum, maximum));
  }
  return number;
}

Result<bool> Configuration::boolean(const ConfigKey& key) const {
  const std::string value = text(key);
  if (value == "true") return true;
  if (value == "false") return false;
  return bad_value(key, value, "true or false");
}

Result<Duration> Configuration::duration(const ConfigKey& key) const {
  auto parsed = parse_duration(text(key));
  if (!parsed.ok()) return parsed.status().with_context(key.name);
  return parsed;
}

Result<uint64_t> Configuration::bytes(const ConfigKey& key, uint64_t minimum,
                                      uint64_t maximum) const {
  std::string value = text(key);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  std::string unit(static_cast<const char*>(end));
  std::erase(unit, ' ');
  std::transform(unit.begin(), unit.end(), unit.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  static const std::map<std::string, int> kShifts = {{"", 0},   {"b", 0},   {"k", 10}, {"kb", 10},
                                                     {"m", 20}, {"mb", 20}, {"g", 30}, {"gb", 30}};
  const auto shift = kShifts.find(unit);
  if (error != std::errc() || shift == kShifts.end() || number > (~0ull >> 34)) {
    return bad_value(key, value, "a size such as 64 mb");
  }
  number <<= shift->second;
  if (number < minimum || number > maximum) {
    return bad_value(key, value, fmt::format("a size from {} to {} bytes", minimum, maximum));
  }
  return number;
}

}  // namespace freshet
