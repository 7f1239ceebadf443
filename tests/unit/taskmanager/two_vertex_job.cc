#include "tests/unit/taskmanager/two_vertex_job.h"

#include "runtime/base/check.h"

namespace freshet::taskmanager_test {

namespace {

class NumberType final : public EdgeType {
 public:
  const std::string& fingerprint() const override { return fingerprint_; }
  uint32_t fixed_size() const override { return 8; }
  void encode(const void* record, Encoder& encoder) const override {
    encoder.write_fixed(*static_cast<const uint64_t*>(record));
  }
  std::unique_ptr<RecordReader> make_reader() const override { return std::make_unique<Reader>(); }
  uint64_t key_hash(const void* record, Encoder&) const override {
    return *static_cast<const uint64_t*>(record);
  }
  uint32_t target(const void*, uint32_t) const override { return 0; }

 private:
  class Reader final : public RecordReader {
   public:
    void read(std::string_view bytes, EpochMillis timestamp, RecordReceiver& to) override {
      const uint64_t number = Decoder(bytes).read_fixed<uint64_t>();
      to.receive(&number, timestamp);
    }
  };
  const std::string fingerprint_ = "u64";
};

class Numbers final : public SourceOperator {
 public:
  explicit Numbers(std::shared_ptr<const JobScript> script) : script_(std::move(script)) {}
  void open(OperatorContext& context, std::vector<RecordReceiver*> outputs) override {
    context_ = &context;
    output_ = outputs.at(0);
  }
  void process(uint32_t, const void*, EpochMillis) override {}
  PollResult poll(uint32_t records_max) override {
    if (script_->pause != 0 && context_->processing_time() < resume_at_) {
      context_->wake_at(resume_at_);
      return PollResult::kWaiting;
    }
    if (script_->pause != 0) records_max = 1;
    resume_at_ = context_->processing_time() + script_->pause;
    for (uint32_t i = 0; i < records_max; i++) {
      if (next_ == script_->records)
        return script_->endless ? PollResult::kWaiting : PollResult::kEnded;
      output_->receive(&next_, kNoTimestamp);
      next_++;
    }
    return PollResult::kMore;
  }
  bool wants_input() const override { return false; }
  uint64_t source_records() const override { return next_; }

 private:
  const std::shared_ptr<const JobScript> script_;
  OperatorContext* context_ = nullptr;
  RecordReceiver* output_ = nullptr;
  EpochMillis resume_at_ = 0;
  uint64_t next_ = 0;
};

class Sink final : public Operator {
 public:
  explicit Sink(std::shared_ptr<const JobScript> script) : script_(std::move(script)) {}
  void open(OperatorContext&, std::vector<RecordReceiver*>) override {}
  void process(uint32_t, const void* record, EpochMillis) override {
    if (script_->on_record) script_->on_record();
    if (script_->received != nullptr)
      script_->received->push_back(*static_cast<const uint64_t*>(record));
  }
  std::vector<std::string> prepare_commit() override { return script_->committables; }

 private:
  const std::shared_ptr<const JobScript> script_;
};

class LoggingCommitter final : public Committer {
 public:
  explicit LoggingCommitter(std::shared_ptr<const JobScript> script) : script_(std::move(script)) {}
  Status commit(const std::string& payload, FileSystem&) override {
    if (script_->log != nullptr) script_->log->push_back("commit " + payload);
    return script_->commit;
  }

 private:
  const std::shared_ptr<const JobScript> script_;
};

class Factory final : public OperatorFactory {
 public:
  Factory(std::shared_ptr<const JobScript> script, bool source)
      : script_(std::move(script)), source_(source) {}
  std::unique_ptr<Operator> make() const override {
    if (source_) return std::make_unique<Numbers>(script_);
    return std::make_unique<Sink>(script_);
  }
  bool is_source() const override { return source_; }
  std::unique_ptr<Committer> make_committer() const override {
    return source_ ? nullptr : std::make_unique<LoggingCommitter>(script_);
  }
  Status check(const JobId&, FileSystem&) const override {
    return source_ ? Status() : script_->check;
  }
  void clean_up(const JobId&, FileSystem&) const override {
    if (!source_ && script_->log != nullptr) script_->log->push_back("clean up");
  }

 private:
  const std::shared_ptr<const JobScript> script_;
  const bool source_;
};

class Built final : public BuiltJob {
 public:
  explicit Built(std::shared_ptr<const JobScript> script)
      : graph_(logical_graph(script->built_differently)) {
    for (const LogicalOperator& one : graph_.operators) {
      factories_[one.id] = std::make_shared<Factory>(script, one.source);
    }
  }
  const std::string& name() const override { return name_; }
  const LogicalGraph& graph() const override { return graph_; }
  std::shared_ptr<const OperatorFactory> operator_factory(OperatorId id) const override {
    const auto found = factories_.find(id);
    return found == factories_.end() ? nullptr : found->second;
  }
  std::shared_ptr<const EdgeType> edge_type(OperatorId, uint32_t, OperatorId,
                                            uint32_t) const override {
    return type_;
  }

 private:
  const std::string name_ = "numbers";
  const LogicalGraph graph_;
  const std::shared_ptr<const EdgeType> type_ = std::make_shared<NumberType>();
  std::map<OperatorId, std::shared_ptr<const OperatorFactory>> factories_;
};

class Module final : public JobModule {
 public:
  explicit Module(std::shared_ptr<JobScript> script) : script_(std::move(script)) {}
  Result<std::shared_ptr<const BuiltJob>> build(const BuildOptions&) override {
    script_->builds++;
    return std::shared_ptr<const BuiltJob>(std::make_shared<Built>(script_));
  }

 private:
  const std::shared_ptr<JobScript> script_;
};

}  // namespace

LogicalGraph logical_graph(uint64_t variant) {
  LogicalGraph graph;
  LogicalOperator numbers;
  numbers.name = "numbers";
  numbers.inputs = 0;
  numbers.source = true;
  numbers.parallelism = 1;
  LogicalOperator sink;
  sink.name = "sink";
  sink.uid = variant == 0 ? "" : "variant-" + std::to_string(variant);
  sink.outputs = 0;
  sink.sink = true;
  sink.parallelism = 1;
  graph.operators = {numbers, sink};
  LogicalEdge edge;
  edge.to = 1;
  edge.partitioning = Partitioning::kRebalance;
  edge.type_fingerprint = "u64";
  graph.edges = {edge};
  CHECK(assign_operator_ids(graph).ok());
  return graph;
}

JobGraph job_graph() {
  auto graph = build_job_graph(logical_graph(), JobGraphOptions{});
  CHECK(graph.ok());
  return std::move(graph).value();
}

Result<std::shared_ptr<JobModule>> ScriptLoader::load(const std::string& path) {
  loaded.push_back(path);
  return std::shared_ptr<JobModule>(std::make_shared<Module>(script_));
}

}  // namespace freshet::taskmanager_test
