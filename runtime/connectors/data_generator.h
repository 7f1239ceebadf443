#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "runtime/connectors/range_batch.h"
#include "runtime/connectors/rate_limiter.h"
#include "runtime/connectors/split_source.h"
#include "runtime/operators/source.h"

namespace freshet {

/// As the `count` of a data_generator(): it ends only with its job.
inline constexpr uint64_t kWithoutEnd = UINT64_MAX;

namespace connectors_detail {

/// Throws ConnectorError when the rate makes no sense.
void check_generator_rate(double records_per_second);

/// That of one reader; follows `source.generator.schedule-start`.
RateLimiter make_generator_limiter(OperatorContext& context, double records_per_second);

template <class T, class F>
class GeneratorReader final : public SplitReader {
 public:
  // What is small and has nothing to be destroyed is made many at once.
  static constexpr bool kTogether = std::is_trivially_copyable_v<T> &&
                                    std::is_default_constructible_v<T> &&
                                    std::is_move_assignable_v<T> && sizeof(T) <= 64;

  GeneratorReader(F function, double records_per_second)
      : function_(std::move(function)), records_per_second_(records_per_second) {}

  void open(OperatorContext& context, std::vector<RecordReceiver*> outputs) override {
    SplitReader::open(context, std::move(outputs));
    if (records_per_second_ != 0)
      limiter_.emplace(make_generator_limiter(context, records_per_second_));
  }

 protected:
  void open_split(const std::string& payload) override { rest_ = decode_range(payload); }

  bool read(uint32_t max_records, RecordReceiver& to, uint64_t* count) override {
    if (limiter_) {
      const EpochMillis now = context().processing_time();
      const uint64_t available = limiter_->available(now);
      if (available == 0) {
        wait_until(limiter_->next(now));
        return true;
      }
      max_records = static_cast<uint32_t>(std::min<uint64_t>(max_records, available));
    }
    if constexpr (kTogether) {
      const auto make = [this](uint64_t index) { return std::invoke(function_, index); };
      if (!limiter_) return batch_.emit(max_records, &rest_, to, count, make);
      const uint64_t before = *count;
      auto time = [this, ahead = uint64_t{0}]() mutable { return limiter_->scheduled(ahead++); };
      const bool more = batch_.emit(max_records, &rest_, to, count, make, time);
      limiter_->take(*count - before);
      return more;
    } else {
      for (uint32_t i = 0; i < max_records; i++) {
        const T record = std::invoke(function_, rest_.first);
        const EpochMillis time = limiter_ ? limiter_->scheduled(0) : kNoTimestamp;
        if (limiter_) limiter_->take(1);
        to.receive(&record, time);
        ++*count;
        if (rest_.first++ == rest_.last) return false;
      }
      return true;
    }
  }

 private:
  F function_;
  const double records_per_second_;
  std::optional<RateLimiter> limiter_;
  NumberRange rest_;
  RangeBatch<std::conditional_t<kTogether, T, char>> batch_;
};

}  // namespace connectors_detail

/// `T f(uint64_t index)` of each index from 0 to `count` - 1, exactly once each; each reader has a
/// copy of the function. `records_per_second` is the rate of the whole source, which its readers
/// divide among themselves; 0: as fast as they can. The first record comes at once. A source that
/// was held up makes up for one second at most; but with `source.generator.schedule-start` for all,
/// and each record has its scheduled time as timestamp. Between its records a limited source waits;
/// it takes no processor time.
template <class F>
auto data_generator(F function, uint64_t count, double records_per_second = 0) {
  static_assert(std::is_invocable_v<F&, uint64_t>, "data_generator takes a function T(uint64_t)");
  using T = std::remove_cvref_t<std::invoke_result_t<F&, uint64_t>>;
  connectors_detail::check_generator_rate(records_per_second);
  std::optional<NumberRange> all;
  if (count != 0) all = NumberRange{0, count - 1};
  Source<T> source;
  source.name = "data generator";
  source.bounded = count != kWithoutEnd;
  source.enumerator = make_enumerator_factory([all] { return make_range_supply(all); });
  source.reader = make_reader_factory([function = std::move(function), records_per_second] {
    return std::make_unique<connectors_detail::GeneratorReader<T, F>>(function, records_per_second);
  });
  return source;
}

}  // namespace freshet
