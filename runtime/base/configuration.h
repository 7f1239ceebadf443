#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/time.h"

namespace freshet {

enum class ConfigKind : uint8_t {
  kText,
  kChoice,
  kBoolean,
  kInteger,
  kReal,
  kBytes,
  kDuration,
  kPorts
};

/// Ports to try in turn. Both ends are among them; {0, 0}: any.
struct PortRange {
  uint16_t first = 0;
  uint16_t last = 0;
  bool operator==(const PortRange&) const = default;
};

/// What values a setting may have. Both ends are allowed; of numbers and sizes only.
struct Allowed {
  ConfigKind kind = ConfigKind::kText;
  double minimum = 0;  // Exact below 2^53.
  double maximum = 0;
  std::string_view words;  // Of a choice, with `|` between them.
};

/// Who reads a setting: where it is given to somebody else it would have no effect.
enum class ConfigScope : uint8_t {
  kProcess,  // A JobManager or a TaskManager, when it starts.
  kJob,      // A job, when it is built and submitted.
  kBoth,     // A job; what its JobManager was started with is the default of all jobs.
};

/// A documented setting.
struct ConfigKey {
  std::string_view name;
  std::string_view default_value;
  Allowed allowed;
  ConfigScope scope;
  std::string_view meaning;
};

/// Every setting there is, in the only place that has it: its constant in `config`, its name
/// (Flink's, where the thing is the same), its default as a user would write it, the values that it
/// may have, who reads it, and what it means.
// clang-format off
#define FRESHET_SETTINGS(SETTING) \
  SETTING(kTaskSlots, "taskmanager.numberOfTaskSlots", "1", integer(1, 65'536), kProcess, \
          "slots that a TaskManager offers") \
  SETTING(kNetworkMemory, "taskmanager.memory.network.size", \
          "128 mb", bytes(1ull << 20, 1ull << 40), kProcess, \
          "segment pool of a TaskManager") \
  SETTING(kManagedMemory, "taskmanager.memory.managed.size", \
          "256 mb", bytes(1ull << 20, 1ull << 40), kProcess, \
          "what operators of batch jobs may collect in a TaskManager before they spill, an equal " \
          "part in each slot") \
  SETTING(kSpillCompression, "taskmanager.memory.managed.compress-spills", "false", boolean(), \
          kProcess, "true: what operators of batch jobs spill is compressed with LZ4") \
  SETTING(kGateBudget, "taskmanager.network.memory.gate-budget", \
          "4 mb", bytes(64 << 10, 1ull << 40), kProcess, \
          "bytes that may be in flight to one input gate") \
  SETTING(kOverdraft, "taskmanager.network.memory.overdraft-per-partition", \
          "1 mb", bytes(0, 4ull << 30), kProcess, \
          "bytes beyond its share of the pool that an output holds before it goes to a file") \
  SETTING(kTempDirectories, "io.tmp.dirs", "", text(), kProcess, \
          "directories for temporary files of a TaskManager, with commas between them, each on a " \
          "disk of its own: one that fails is left out; empty: its state directory") \
  SETTING(kBlockingCodec, "taskmanager.network.compression.codec", \
          "lz4", choice("none|lz4|zstd"), kProcess, \
          "how the files of blocking edges are compressed") \
  SETTING(kBlockingWriteMemory, "taskmanager.network.sort-shuffle.write-memory", \
          "16 mb", bytes(256 << 10, 1ull << 40), kProcess, \
          "what an output to a blocking edge can use of the segment pool; it needs 256 kb") \
  SETTING(kBlockingReadMemory, "taskmanager.memory.framework.off-heap.batch-shuffle.size", \
          "32 mb", bytes(256 << 10, 1ull << 40), kProcess, \
          "for what is read of blocking edges, beside the segment pool") \
  SETTING(kBufferTimeout, "execution.buffer-timeout.interval", "100 ms", duration(), kJob, \
          "longest wait of a record in an unfilled buffer, up to 24 h; 0: none") \
  SETTING(kBufferTimeoutEnabled, "execution.buffer-timeout.enabled", "true", boolean(), kJob, \
          "false: buffers are sent only when they are full") \
  SETTING(kHeartbeatInterval, "heartbeat.interval", "1 s", duration(), kProcess, \
          "between two heartbeats of a TaskManager") \
  SETTING(kHeartbeatTimeout, "heartbeat.timeout", "10 s", duration(), kProcess, \
          "silence after which the other side is taken for dead") \
  SETTING(kSlotTimeout, "slot.request.timeout", "10 s", duration(), kBoth, \
          "longest wait of a job for its slots") \
  SETTING(kWorkerThreads, "taskmanager.worker-threads", "0", integer(0, 1024), kProcess, \
          "threads that run tasks, but for those that may block; 0: one per core") \
  SETTING(kBindHost, "bind-host", "127.0.0.1", text(), kProcess, \
          "address that ports are bound to; beyond loopback only with security.secret") \
  SETTING(kRpcPort, "jobmanager.rpc.port", "6123", integer(0, 65'535), kProcess, \
          "control port of the JobManager; 0: any free one") \
  SETTING(kOffloadMin, "blob.offload.minsize", "1 mb", bytes(1, 64 << 20), kProcess, \
          "where the producers of an input are: from this size on TaskManagers fetch it as a " \
          "blob, and deployments name it only") \
  SETTING(kDescriptorCache, "taskmanager.deployment-cache.size", \
          "64 mb", bytes(0, 64ull << 30), kProcess, \
          "what a TaskManager remembers of where producers are; it fetches again what it forgot") \
  SETTING(kSubmission, "jobmanager.submit.enable", "true", boolean(), kProcess, \
          "false: the JobManager takes no jobs and no modules; the jobs that it has go on") \
  SETTING(kRestPort, "rest.port", "8081", integer(0, 65'535), kProcess, \
          "port of the REST API; 0: any free one; what nobody has set gives way when it is in " \
          "use") \
  SETTING(kWebSubmission, "web.submit.enable", "true", boolean(), kProcess, \
          "false: no job modules are uploaded and run by the REST API") \
  SETTING(kUploadBytes, "rest.server.max-content-length", \
          "200 mb", bytes(1 << 20, 200 << 20), kProcess, \
          "largest job module that is uploaded by the REST API") \
  SETTING(kBuildTimeout, "rest.build-timeout", "1 min", duration(), kProcess, \
          "how long the function of a job that was uploaded may take") \
  SETTING(kPrometheusPort, "metrics.reporter.prom.port", "", ports(), kProcess, \
          "where each process answers GET /metrics for Prometheus; of a range it takes the first " \
          "that is free; 0: any free one") \
  SETTING(kDataPort, "taskmanager.data.port", "0", integer(0, 65'535), kProcess, \
          "data port of a TaskManager, as others are told it; 0: the one that it binds") \
  SETTING(kDataBindPort, "taskmanager.data.bind-port", "", ports(), kProcess, \
          "port that a TaskManager binds for its data, when others reach it through another one; " \
          "of a range it takes the first that is free; 0: any free one; empty: " \
          "taskmanager.data.port") \
  SETTING(kUnixSockets, "taskmanager.network.unix-sockets", "true", boolean(), kProcess, \
          "data between TaskManagers of one host goes through Unix sockets, when both have them; " \
          "one that binds another data port than others are told has none") \
  SETTING(kSecret, "security.secret", "", text(), kBoth, \
          "shared secret that every peer must know; also from the environment variable " \
          "FRESHET_SECRET") \
  SETTING(kRestartStrategy, "restart-strategy.type", "exponential-delay", \
          choice("none|fixed-delay|failure-rate|exponential-delay"), kBoth, \
          "whether and when a failed job is restarted") \
  SETTING(kFailoverStrategy, "jobmanager.execution.failover-strategy", "region", \
          choice("region|full"), kBoth, \
          "what a failure restarts: region: what failed, what made its lost input and what is " \
          "reading its output; full: the whole job") \
  SETTING(kFixedDelayAttempts, "restart-strategy.fixed-delay.attempts", \
          "1", integer(0, 1'000'000'000), kBoth, \
          "restarts before the job fails") \
  SETTING(kFixedDelayDelay, "restart-strategy.fixed-delay.delay", "1 s", duration(), kBoth, \
          "wait before a restart") \
  SETTING(kFailureRateMax, "restart-strategy.failure-rate.max-failures-per-interval", \
          "1", integer(1, 1'000'000), kBoth, \
          "failures in the interval that are still restarted") \
  SETTING(kFailureRateInterval, "restart-strategy.failure-rate.failure-rate-interval", \
          "1 min", duration(), kBoth, \
          "in which failures are counted") \
  SETTING(kFailureRateDelay, "restart-strategy.failure-rate.delay", "1 s", duration(), kBoth, \
          "wait before a restart") \
  SETTING(kExponentialInitial, "restart-strategy.exponential-delay.initial-backoff", \
          "0 ms", duration(), kBoth, \
          "wait before the first restart") \
  SETTING(kExponentialMax, "restart-strategy.exponential-delay.max-backoff", \
          "1 min", duration(), kBoth, \
          "longest wait before a restart") \
  SETTING(kExponentialMultiplier, "restart-strategy.exponential-delay.backoff-multiplier", \
          "1.5", real(1, 1000), kBoth, \
          "growth of the wait per restart") \
  SETTING(kExponentialReset, "restart-strategy.exponential-delay.reset-backoff-threshold", \
          "1 h", duration(), kBoth, \
          "calm after which the wait starts anew") \
  SETTING(kExponentialJitter, "restart-strategy.exponential-delay.jitter-factor", \
          "0.1", real(0, 1), kBoth, \
          "random part of the wait, either way") \
  SETTING(kExponentialAttempts, \
          "restart-strategy.exponential-delay.attempts-before-reset-backoff", \
          "10", integer(0, 1'000'000'000), kBoth, \
          "restarts without calm between them before the job fails") \
  SETTING(kChannelHash, "execution.channel-hash.enabled", "false", boolean(), kBoth, \
          "rolling hash over the elements of every channel, checked by the receiver") \
  SETTING(kTestFaults, "test.faults", "", text(), kProcess, \
          "[<process>/]<mark>:<n>:<kill|stop|throw|delay>,...; only with --allow-faults") \
  SETTING(kTestFaultsRecord, "test.faults.record", "", text(), kProcess, \
          "absolute path of a file to which each fault of test.faults adds a line; then each " \
          "fires once in all lives of all processes") \
  SETTING(kTestDisk, "test.disk", "", text(), kProcess, \
          "absolute path of a file of switches that make the disk of a TaskManager full, slow or " \
          "broken; only with --allow-faults") \
  SETTING(kTestRecords, "test.records", "", text(), kProcess, \
          "<lose|double>:<n> or <lose|double>:every=<n>: what happens to a record that leaves a " \
          "task; only with --allow-faults") \
  SETTING(kCancellationTimeout, "task.cancellation.timeout", "30 s", duration(), kProcess, \
          "after which a TaskManager with a task that does not end is ended") \
  SETTING(kLogLevel, "env.log.level", "info", choice("debug|info|warn|error"), kProcess, \
          "least important lines of a process's log; debug: also each task that is deployed, " \
          "ends or restarts") \
  SETTING(kWatchdogTimeout, "task.watchdog.timeout", "10 s", duration(), kProcess, \
          "longest step of a task that its log does not name; 0 s: any") \
  SETTING(kSplitBytes, "source.file.split-size", "8 mb", bytes(1, 1ull << 50), kJob, \
          "largest byte range of a text file that one reader takes at a time") \
  SETTING(kScheduleStart, "source.generator.schedule-start", \
          "0", integer(0, 100'000'000'000'000), kJob, \
          "milliseconds since 1970 from which generators with a rate count: each record has its " \
          "time, however late it comes, and all are made up for; 0: from their own start, and " \
          "one second at most") \
  SETTING(kWorkingDirectory, "client.working-directory", "", text(), kJob, \
          "what a job's relative paths are relative to; set by the client")
// clang-format on

namespace config {
#define FRESHET_DECLARE_SETTING(constant, ...) extern const ConfigKey constant;
FRESHET_SETTINGS(FRESHET_DECLARE_SETTING)
#undef FRESHET_DECLARE_SETTING
}  // namespace config

/// Every known key, sorted by name.
const std::vector<const ConfigKey*>& config_keys();

/// Settings of a process or a job: names to texts. Reading one that was not set gives its default;
/// a value that is not allowed is kInvalidArgument and names the key. Values copy;
/// thread-compatible.
class Configuration {
 public:
  /// Refuses an unknown name, and says which known one is near, or which there are.
  Status set(const std::string& name, std::string value);
  /// From `key=value`, as after -D.
  Status set_pair(const std::string& pair);

  bool has(const ConfigKey&) const;
  std::string text(const ConfigKey&) const;
  // Each for keys of its kind.
  Result<int64_t> integer(const ConfigKey&) const;
  Result<double> real(const ConfigKey&) const;
  Result<bool> boolean(const ConfigKey&) const;
  Result<Duration> duration(const ConfigKey&) const;
  /// Nullopt of an empty one.
  Result<std::optional<PortRange>> ports(const ConfigKey&) const;
  /// `64 mb`, `32kb`, `512`; binary units.
  Result<uint64_t> bytes(const ConfigKey&) const;

  /// Not ok when reading this one would not be.
  Status check(const ConfigKey&) const;
  /// The same of all that were set.
  Status check_all() const;

  const std::map<std::string, std::string>& values() const { return values_; }

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace freshet
