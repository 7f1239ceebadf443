#include "runtime/connectors/discard_sink.h"

#include "runtime/connectors/sink_operator.h"

namespace freshet {

namespace {

class DiscardWriter final : public Operator {
 public:
  explicit DiscardWriter(std::shared_ptr<DiscardedRecords> counter)
      : counter_(std::move(counter)) {}

  void open(OperatorContext& /*context*/, std::vector<RecordReceiver*> /*outputs*/) override {}
  void process(uint32_t /*input*/, const void* /*record*/, EpochMillis /*timestamp*/) override {
    records_++;
  }
  void close() override {
    if (counter_) counter_->count += records_;
    records_ = 0;
  }

 private:
  std::shared_ptr<DiscardedRecords> counter_;
  uint64_t records_ = 0;
};

}  // namespace

std::shared_ptr<const OperatorFactory> make_discard_factory(
    std::shared_ptr<DiscardedRecords> counter) {
  SinkParts parts;
  parts.publication = {.visible = Visible::kNever, .directory = {}};
  parts.writer = [counter] { return std::make_unique<DiscardWriter>(counter); };
  return make_sink_factory(std::move(parts));
}

}  // namespace freshet
