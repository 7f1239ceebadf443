#pragma once

#include <cstddef>
#include <string_view>

namespace freshet {

inline constexpr size_t kNameLengthMax = 4096;
inline constexpr size_t kTypeFingerprintLengthMax = 65'536;

/// True for UTF-8 of at most `length_max` bytes: what a text field of a message can carry.
bool is_plain_text(std::string_view text, size_t length_max = kNameLengthMax);

}  // namespace freshet
