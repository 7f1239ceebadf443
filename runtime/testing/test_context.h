#pragma once

#include <map>
#include <memory>
#include <string>

#include "runtime/base/clock.h"
#include "runtime/base/memory_file_system.h"
#include "runtime/base/random.h"
#include "runtime/operators/operator.h"

namespace freshet::testing {

/// What an operator under test sees of the world: a clock that stands still until told, seeded
/// chance, files in memory. Answers of the outside are asked for each time.
class TestContext final : public OperatorContext {
 public:
  struct Options {
    uint32_t subtask = 0;
    uint32_t parallelism = 1;
    uint32_t max_parallelism = 128;
    uint64_t seed = 1;
    std::map<std::string, std::string> settings = {};
    SpillSpace* spill_space = nullptr;  // As in a batch job.
  };

  TestContext() : TestContext(Options()) {}
  explicit TestContext(Options);

  uint32_t subtask() const override { return options_.subtask; }
  uint32_t parallelism() const override { return options_.parallelism; }
  uint32_t max_parallelism() const override { return options_.max_parallelism; }
  const AttemptId& attempt() const override { return attempt_; }
  OperatorId operator_id() const override { return OperatorId{1}; }
  const std::string& operator_name() const override { return name_; }
  EpochMillis processing_time() const override { return clock_.epoch_millis(); }
  uint64_t random() override { return random_->next(); }
  std::string external(const std::string& what, const std::function<std::string()>& ask) override;
  void wake_at(EpochMillis /*time*/) override {}  // Whoever runs a source polls it when he likes.
  FileSystem& files() override { return *files_; }
  std::string setting(const std::string& name) const override;
  SpillSpace* spill_space() override { return options_.spill_space; }

  ManualClock& clock() { return clock_; }

 private:
  const Options options_;
  const AttemptId attempt_;
  const std::string name_ = "operator under test";
  ManualClock clock_;
  std::unique_ptr<Random> random_;
  std::unique_ptr<FileSystem> files_;
};

}  // namespace freshet::testing
