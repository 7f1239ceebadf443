#include "runtime/connectors/split_source.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"

namespace freshet {

void SplitEnumerator::open(OperatorContext& context, std::vector<RecordReceiver*> outputs) {
  CHECK(outputs.size() == 1);
  splits_ = outputs[0];
  supply_->open(context);
  if (!context.has_input(0)) {
    readers_ = context.consumers(0);
    (void)supply_->divide_for(readers_);
  }
  next_ = supply_->next();
}

void SplitEnumerator::process(uint32_t /*input*/, const void* record, EpochMillis /*timestamp*/) {
  if (!next_) return;  // The end of the output is the answer.
  const auto& request = *static_cast<const SplitRequest*>(record);
  if (!std::exchange(asked_, true) && supply_->divide_for(request.readers)) next_ = supply_->next();
  const Split split{request.reader, std::move(*next_)};
  next_ = supply_->next();
  splits_->receive(&split, kNoTimestamp);
}

PollResult SplitEnumerator::poll(uint32_t max_records) {
  if (readers_ != 0) {
    for (uint32_t i = 0; i < max_records && next_; i++) {
      const Split split{next_reader_, *std::move(next_)};
      next_reader_ = next_reader_ + 1 == readers_ ? 0 : next_reader_ + 1;
      next_ = supply_->next();
      splits_->receive(&split, kNoTimestamp);
    }
    return next_ ? PollResult::kMore : PollResult::kEnded;
  }
  return next_ ? PollResult::kWaiting : PollResult::kEnded;
}

void SplitReader::open(OperatorContext& context, std::vector<RecordReceiver*> outputs) {
  CHECK(outputs.size() == 2);
  context_ = &context;
  output_ = outputs[0];
  requests_ = outputs[1];
}

void SplitReader::process(uint32_t /*input*/, const void* record, EpochMillis /*timestamp*/) {
  CHECK(!reading_);
  open_split(static_cast<const Split*>(record)->payload);
  reading_ = true;
}

void SplitReader::ask() {
  const SplitRequest request{context_->subtask(), context_->parallelism()};
  requests_->receive(&request, kNoTimestamp);
}

PollResult SplitReader::poll(uint32_t max_records) {
  if (reading_) {
    waiting_ = false;
    if (read(max_records, *output_, &records_)) {
      return waiting_ ? PollResult::kWaiting : PollResult::kMore;
    }
    reading_ = false;
    asked_ = false;
  }
  if (no_more_splits_) return PollResult::kEnded;
  if (!asked_) {
    asked_ = true;
    if (context_->consumers(1) != 0) ask();
  }
  return PollResult::kWaiting;
}

namespace {

class EnumeratorFactory final : public OperatorFactory {
 public:
  EnumeratorFactory(std::function<std::unique_ptr<SplitSupply>()> make,
                    std::function<Status(FileSystem&)> check)
      : make_(std::move(make)), check_(std::move(check)) {}

  std::unique_ptr<Operator> make() const override {
    return std::make_unique<SplitEnumerator>(make_());
  }
  bool is_source() const override { return true; }
  Status check(const JobId&, FileSystem& files) const override {
    return check_ ? check_(files) : Status();
  }

 private:
  std::function<std::unique_ptr<SplitSupply>()> make_;
  std::function<Status(FileSystem&)> check_;
};

class ReaderFactory final : public OperatorFactory {
 public:
  explicit ReaderFactory(std::function<std::unique_ptr<SplitReader>()> make)
      : make_(std::move(make)) {}

  std::unique_ptr<Operator> make() const override { return make_(); }
  bool is_source() const override { return true; }

 private:
  std::function<std::unique_ptr<SplitReader>()> make_;
};

class RangeSupply final : public SplitSupply {
 public:
  explicit RangeSupply(std::optional<NumberRange> all) : all_(all) { (void)divide_for(1); }

  void open(OperatorContext& /*context*/) override {}

  bool divide_for(uint32_t readers) override {
    const uint64_t ranges = std::max<uint64_t>(kRanges, uint64_t{kRangesPerReader} * readers);
    rest_ = all_;
    // Rounded down, or the last readers would have nothing.
    if (rest_)
      step_ = std::min(kLongest, std::max<uint64_t>(1, (all_->last - all_->first) / ranges)) - 1;
    return true;
  }

  std::optional<std::string> next() override {
    if (!rest_) return std::nullopt;
    const uint64_t last = rest_->last - rest_->first <= step_ ? rest_->last : rest_->first + step_;
    std::string payload = encode_range({rest_->first, last});
    if (last == rest_->last) {
      rest_.reset();
    } else {
      rest_->first = last + 1;
    }
    return payload;
  }

 private:
  static constexpr uint64_t kRanges = 64;  // At least about so many.
  static constexpr uint32_t kRangesPerReader = 4;
  static constexpr uint64_t kLongest = 1 << 20;
  const std::optional<NumberRange> all_;
  std::optional<NumberRange> rest_;
  uint64_t step_ = 0;  // Indexes of a range, less one: the number of all may not fit in 64 bits.
};

}  // namespace

std::shared_ptr<const OperatorFactory> make_enumerator_factory(
    std::function<std::unique_ptr<SplitSupply>()> make, std::function<Status(FileSystem&)> check) {
  return std::make_shared<EnumeratorFactory>(std::move(make), std::move(check));
}

std::shared_ptr<const OperatorFactory> make_reader_factory(
    std::function<std::unique_ptr<SplitReader>()> make) {
  return std::make_shared<ReaderFactory>(std::move(make));
}

std::string encode_range(const NumberRange& range) {
  Encoder encoder;
  encoder.write_varint(range.first);
  encoder.write_varint(range.last);
  return std::string(encoder.bytes());
}

NumberRange decode_range(const std::string& payload) {
  Decoder decoder(payload);
  NumberRange range;
  range.first = decoder.read_varint();
  range.last = decoder.read_varint();
  if (decoder.remaining() != 0 || range.first > range.last)
    throw CodecError("a split is no range of numbers");
  return range;
}

std::unique_ptr<SplitSupply> make_range_supply(std::optional<NumberRange> all) {
  return std::make_unique<RangeSupply>(all);
}

}  // namespace freshet
