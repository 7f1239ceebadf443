#include "runtime/connectors/rate_limiter.h"

#include <algorithm>
#include <cmath>

namespace freshet {
namespace {

constexpr EpochMillis kWaitMin = 10;
constexpr double kPlacesMax = 9e18;

}  // namespace

RateLimiter::RateLimiter(double per_second, uint32_t share, uint32_t shares, EpochMillis start,
                         bool scheduled)
    : per_millisecond_(per_second / 1000),
      share_(share),
      shares_(shares),
      burst_(static_cast<uint64_t>(std::max(1.0, std::ceil(per_second / shares)))),
      scheduled_(scheduled),
      start_(start),
      last_(start) {}

uint64_t RateLimiter::places_until(EpochMillis now) const {
  const double all = std::floor(static_cast<double>(now - start_) * per_millisecond_) + 1;
  if (all < 0) return 0;
  const auto places = static_cast<uint64_t>(std::min(all, kPlacesMax));
  return places <= share_ ? 0 : (places - share_ - 1) / shares_ + 1;
}

uint64_t RateLimiter::available(EpochMillis now) {
  if (now < last_ && !scheduled_) start_ -= last_ - now;
  last_ = now;
  const uint64_t places = places_until(now);
  if (places > taken_ + burst_ && !scheduled_) taken_ = places - burst_;
  return places <= taken_ ? 0 : places - taken_;
}

EpochMillis RateLimiter::next(EpochMillis now) const {
  return std::max(start_ + static_cast<EpochMillis>(std::ceil(due(taken_))), now + kWaitMin);
}

EpochMillis RateLimiter::scheduled(uint64_t ahead) const {
  if (!scheduled_) return kNoTimestamp;
  return start_ + static_cast<EpochMillis>(std::floor(due(taken_ + ahead)));
}

double RateLimiter::due(uint64_t place) const {
  const double of_all =
      static_cast<double>(place) * static_cast<double>(shares_) + static_cast<double>(share_);
  return of_all / per_millisecond_;
}

}  // namespace freshet
