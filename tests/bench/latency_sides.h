#pragma once

#include <memory>
#include <string>

#include "network/transport.h"
#include "shuffle/shuffle_environment.h"
#include "tests/bench/latency_load.h"

namespace freshet::bench {

/// The writing process: one partition with one subpartition, written by the thread that calls.
/// Says its data address in `directory`/address, begins when `directory`/begin is there, and ends
/// when `directory`/end is.
Status run_latency_writer(const LatencyLoad& load, const std::string& directory);

/// The reading process: one gate, read by the thread that calls.
class LatencyReader {
 public:
  LatencyReader(const LatencyLoad& load, Address producer);
  ~LatencyReader();

  Status attach();

  /// Reads until the end of the data.
  Result<LatencyTaken> read_all();

 private:
  class Signals;

  void take(LatencyNotes& notes);

  const LatencyLoad load_;
  const Address producer_;
  const std::unique_ptr<Clock> clock_ = make_system_clock();
  std::shared_ptr<Signals> signals_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<ShuffleEnvironment> environment_;
  std::shared_ptr<InputGate> gate_;
};

}  // namespace freshet::bench
