#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "runtime/base/status.h"

namespace freshet {

class ResultCheck;

/// Whether a module that check_module() accepts has a FRESHET_CHECK. None of its code runs.
bool has_result_check(std::string_view module_bytes);

/// The FRESHET_CHECK of a module that check_module() accepts. Its code is mapped from the file,
/// which must not change, and stays. kNotFound when it has none.
Result<std::function<void(ResultCheck&)>> load_result_check(const std::string& path);

}  // namespace freshet
