#pragma once

#include <functional>
#include <vector>

#include "runtime/chaos/fault_plan.h"

namespace freshet::chaos {

/// The least of these faults that still fail, by delta debugging: without parts of them, from
/// halves to single ones, as long as one can be left out; then what lasts is made shorter.
///
/// `fails` is asked of ever fewer faults, at most `runs_max` times; it must always say the same.
/// That it does of all of them is not asked.
std::vector<PlannedFault> shrink(std::vector<PlannedFault> faults,
                                 const std::function<bool(const std::vector<PlannedFault>&)>& fails,
                                 uint32_t runs_max);

}  // namespace freshet::chaos
