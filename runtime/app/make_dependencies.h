#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace freshet {

/// The files behind `TARGET:` in a rule of make, as compilers write it: separated by blanks and
/// broken lines, with `\ `, `\#` and `$$` for blank, `#` and `$`. None of a text that is no rule.
std::vector<std::string> parse_make_dependencies(std::string_view rule);

}  // namespace freshet
