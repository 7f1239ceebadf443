#pragma once

#include <string>

#include "runtime/base/configuration.h"

namespace freshet {

/// What values a setting may have, in words: `a whole number from 0 to 1024`, `true or false`.
std::string allowed_values(const ConfigKey&);

/// Who reads a setting: `processes`, `jobs` or `both`.
std::string readers_of(const ConfigKey&);

/// All settings as Markdown: what SETTINGS.md holds, word for word.
std::string settings_table();

}  // namespace freshet
