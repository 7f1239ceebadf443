#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace wordcount {

/// Lower-case letters and digits stand for themselves, upper-case letters for their lower case, 0
/// separates words.
constexpr std::array<char, 256> word_characters() {
  std::array<char, 256> table{};
  for (int c = '0'; c <= '9'; c++) table[static_cast<size_t>(c)] = static_cast<char>(c);
  for (int c = 'a'; c <= 'z'; c++) {
    table[static_cast<size_t>(c)] = static_cast<char>(c);
    table[static_cast<size_t>(c - 'a' + 'A')] = static_cast<char>(c);
  }
  return table;
}

inline constexpr std::array<char, 256> kWordCharacters = word_characters();

/// Puts every word of `line` into `word` and calls take(): the longest runs of ASCII letters and
/// digits, in lower case, like `LC_ALL=C tr -cs 'A-Za-z0-9' '\n' | tr A-Z a-z`. Other bytes, also
/// those of other alphabets, separate.
template <class Take>
void for_each_word(std::string_view line, std::string& word, Take&& take) {
  word.clear();
  for (const char c : line) {
    const char character = kWordCharacters[static_cast<unsigned char>(c)];
    if (character != 0) {
      word += character;
    } else if (!word.empty()) {
      take();
      word.clear();
    }
  }
  if (!word.empty()) take();
}

}  // namespace wordcount
