#include "runtime/connectors/data_generator.h"

#include <fmt/format.h>

#include "runtime/base/configuration.h"
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

RateLimiter make_generator_limiter(OperatorContext& context, double records_per_second) {
  Configuration configuration;
  const std::string name(config::kScheduleStart.name);
  const std::string value = context.setting(name);
  if (!value.empty()) throw_if_error(configuration.set(name, value));
  const int64_t schedule = value_or_throw(configuration.integer(config::kScheduleStart));
  const EpochMillis start = schedule != 0 ? schedule : context.processing_time();
  return {records_per_second, context.subtask(), context.parallelism(), start, schedule != 0};
}

}  // namespace freshet::connectors_detail
