#pragma once

#include <string>
#include <vector>

#include "tests/integration/results.h"
#include "tests/integration/test_cluster.h"

namespace freshet::testing {

/// Arguments of the test job `gated_count`, which stays in the middle until the file `gate` exists.
std::vector<std::string> gated_count(const std::string& gate, const std::string& output,
                                     const std::string& parallelism = "4");

/// An attached `freshet run` of `gated_count` that ends when the test opens its gate.
class GatedJob {
 public:
  /// Files are made in `directory`; `settings` go before the module.
  GatedJob(const TestCluster& cluster, const std::string& directory,
           std::vector<std::string> settings = {}, const std::string& parallelism = "4");

  /// Waits until the job runs in its execution number `restarts` and has read all that it can
  /// before the gate.
  bool wait_until_in_the_middle(uint32_t restarts = 0);

  void open_gate();

  FreshetProcess& run() { return run_; }
  std::string errors() const { return run_.errors() + cluster_.list().output; }
  const std::string& output() const { return output_; }

  /// After the end.
  void expect_exact_result() const;
  void expect_nothing_visible() const;

 private:
  const TestCluster& cluster_;
  const std::string gate_;
  const std::string output_;
  FreshetProcess run_;
};

}  // namespace freshet::testing
