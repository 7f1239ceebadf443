#include "runtime/connectors/data_generator.h"

#include <fmt/format.h>

#include "runtime/connectors/connector_error.h"

namespace freshet::connectors_detail {

void check_generator_rate(double records_per_second) {
  if (records_per_second == 0) return;
  if (records_per_second >= RateLimiter::kPerSecondMin &&
      records_per_second <= RateLimiter::kPerSecondMax) {
    return;
  }
  throw ConnectorError(invalid_argument(
      fmt::format("data_generator() cannot give {} records per second; allowed are {} to "
                  "{}, and 0 for no limit",
                  records_per_second, RateLimiter::kPerSecondMin, RateLimiter::kPerSecondMax)));
}

}  // namespace freshet::connectors_detail
