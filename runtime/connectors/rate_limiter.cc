#include "runtime/connectors/rate_limiter.h"

#include <algorithm>
#include <cmath>

namespace freshet {
namespace {

constexpr EpochMillis kWaitMin = 10;
constexpr double kPlacesMax = 9e18;

}  // namespace

RateLimiter::RateLimiter(double per_second, uint32_t share, uint32_t shares, EpochMillis start)
    : per_millisecond_(per_second / 1000),
      share_(share),
      shares_(shares),
      burst_(static_cast<uint64_t>(std::max(1.0, std::ceil(per_second / shares)))),
      start_(start),
      last_(start) {}

uint64_t RateLimiter::places_until(EpochMillis now) const {
  const double all = std::floor(static_cast<double>(now - start_) * per_millisecond_) + 1;
  const auto places = static_cast<uint64_t>(std::min(all, kPlacesMax));
  return places <= share_ ? 0 : (places - share_ - 1) / shares_ + 1;
}

uint64_t RateLimiter::available(EpochMillis now) {
  if (now < last_) start_ -= last_ - now;
  last_ = now;
  const uint64_t places = places_until(now);
  if (places > taken_ + burst_) taken_ = places - burst_;
  return places <= taken_ ? 0 : places - taken_;
}

EpochMillis RateLimiter::next(EpochMillis now) const {
  const double place =
      static_cast<double>(taken_) * static_cast<double>(shares_) + static_cast<double>(share_);
  const double due = std::ceil(place / per_millisecond_);
  return std::max(start_ + static_cast<EpochMillis>(due), now + kWaitMin);
}

}  // namespace freshet
