#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace freshet {

/// The one of `known` that somebody meant who wrote `name`, if one is near: at most a third of its
/// letters may be wrong. A name may be only the beginning of it.
std::optional<std::string_view> nearest_name(std::string_view name,
                                             const std::vector<std::string_view>& known);

}  // namespace freshet
