#include "runtime/graph/runtime_mode.h"

#include "runtime/base/check.h"

namespace freshet {

std::string_view to_string(RuntimeMode mode) {
  switch (mode) {
    case RuntimeMode::kStreaming:
      return "streaming";
    case RuntimeMode::kBatch:
      return "batch";
    case RuntimeMode::kAutomatic:
      return "automatic";
  }
  check_failed(__FILE__, __LINE__, "the value is one of the enumeration");
}

std::string_view to_string(Partitioning partitioning) {
  switch (partitioning) {
    case Partitioning::kForward:
      return "forward";
    case Partitioning::kHash:
      return "hash";
    case Partitioning::kRebalance:
      return "rebalance";
    case Partitioning::kRescale:
      return "rescale";
    case Partitioning::kBroadcast:
      return "broadcast";
    case Partitioning::kShuffle:
      return "shuffle";
    case Partitioning::kGlobal:
      return "global";
    case Partitioning::kDirect:
      return "direct";
    case Partitioning::kCustom:
      return "custom";
  }
  check_failed(__FILE__, __LINE__, "the value is one of the enumeration");
}

Result<RuntimeMode> parse_runtime_mode(std::string_view text) {
  for (const RuntimeMode mode :
       {RuntimeMode::kStreaming, RuntimeMode::kBatch, RuntimeMode::kAutomatic}) {
    if (text == to_string(mode)) return mode;
  }
  return invalid_argument("'" + std::string(text.substr(0, 64)) +
                          "' is not a mode; use streaming, batch or automatic");
}

}  // namespace freshet
