#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/graph/job_graph.h"
#include "runtime/graph/job_module.h"
#include "runtime/operators/source.h"

namespace freshet::taskmanager_test {

/// What the operators of the job do, beyond counting to `records`.
struct JobScript {
  uint64_t records = 100;
  bool endless = false;
  EpochMillis pause = 0;                      // Of the source, after each record.
  std::function<void()> on_record;            // Of the sink; may throw.
  Status check;                               // Of the sink.
  std::vector<std::string> committables;      // Of the sink.
  Status commit;                              // The committer's answer.
  std::vector<uint64_t>* received = nullptr;  // By the sink.
  std::vector<std::string>* log = nullptr;    // Commits and clean-ups.
  uint64_t builds = 0;                        // Calls of the module's build().
  uint64_t built_differently = 0;             // Changes the graph that the module builds.
};

/// A job `numbers -> sink`, each a vertex of parallelism 1, as a builder would have made it.
LogicalGraph logical_graph(uint64_t variant = 0);
JobGraph job_graph();

/// A loader of one module that builds the job; it takes the content of any file for it.
class ScriptLoader final : public ModuleLoader {
 public:
  explicit ScriptLoader(std::shared_ptr<JobScript> script) : script_(std::move(script)) {}
  Result<std::shared_ptr<JobModule>> load(const std::string& path) override;

  std::vector<std::string> loaded;

 private:
  const std::shared_ptr<JobScript> script_;
};

}  // namespace freshet::taskmanager_test
