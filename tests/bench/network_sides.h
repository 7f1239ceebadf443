#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "network/transport.h"
#include "shuffle/shuffle_environment.h"
#include "tests/bench/bare_network.h"

namespace freshet::bench {

/// The writing process: one thread per writer, each with a partition of as many subpartitions as
/// there are channels. Says its data address in `address_file`, begins when `begin_file` is there,
/// and ends when `end_file` is.
Status run_network_writers(const NetworkLoad& load, const std::string& directory);

/// The reading process: one gate per channel with one producer per writer, all read by the thread
/// that calls.
class NetworkReader {
 public:
  /// `directory` is the writing process's.
  NetworkReader(const NetworkLoad& load, Address producers, const std::string& directory);
  ~NetworkReader();

  Status attach();

  /// Reads until the last value of each channel came; compares every value.
  Status read_all();

 private:
  /// Gates that have something, told from any thread.
  class Ready {
   public:
    void add(uint32_t gate);
    std::vector<uint32_t> wait();

   private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<uint32_t> gates_;
  };

  void read_gate(InputGate& gate);

  const NetworkLoad load_;
  InputGate::ProducerLocation producers_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<ShuffleEnvironment> environment_;
  std::shared_ptr<Ready> ready_ = std::make_shared<Ready>();
  std::vector<std::shared_ptr<InputGate>> gates_;
  uint64_t records_ = 0;
  uint64_t ended_ = 0;
};

}  // namespace freshet::bench
