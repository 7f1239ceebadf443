#include "runtime/connectors/sequence.h"

#include "runtime/connectors/range_batch.h"
#include "runtime/connectors/split_source.h"

namespace freshet {

namespace {

/// Ranges are counted from `from`, so that they are unsigned.
class SequenceReader final : public SplitReader {
 public:
  explicit SequenceReader(int64_t from) : from_(static_cast<uint64_t>(from)) {}

 protected:
  void open_split(const std::string& payload) override { rest_ = decode_range(payload); }

  bool read(uint32_t max_records, RecordReceiver& to, uint64_t* count) override {
    return batch_.emit(max_records, &rest_, to, count,
                       [this](uint64_t index) { return static_cast<int64_t>(from_ + index); });
  }

 private:
  const uint64_t from_;
  NumberRange rest_;
  RangeBatch<int64_t> batch_;
};

}  // namespace

Source<int64_t> sequence(int64_t from, int64_t to) {
  std::optional<NumberRange> all;
  if (from <= to) all = NumberRange{0, static_cast<uint64_t>(to) - static_cast<uint64_t>(from)};
  Source<int64_t> source;
  source.name = "sequence";
  source.enumerator = make_enumerator_factory([all] { return make_range_supply(all); });
  source.reader = make_reader_factory([from] { return std::make_unique<SequenceReader>(from); });
  return source;
}

}  // namespace freshet
