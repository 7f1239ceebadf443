#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace freshet::testing {

using WordCounts = std::map<std::string, uint64_t>;

/// The reference model of word count: lower-cased runs of ASCII letters and digits of all files.
WordCounts count_words(const std::vector<std::string>& files);

/// The same by the pipeline of coreutils that the documentation compares with.
WordCounts count_with_coreutils(const std::vector<std::string>& files);

/// What a word count job left in its output directory. A test failure when a word is there twice or
/// a line makes no sense.
WordCounts read_word_counts(const std::string& directory);

/// All lines of all files of a directory, sorted. A test failure when something of an attempt is
/// left.
std::vector<std::string> read_lines(const std::string& directory);

/// The licences of Debian: text that every machine has.
std::vector<std::string> license_files();

/// Small files with every kind of line end, with and without a last one, of other bytes than text,
/// and an empty one. Their paths.
std::vector<std::string> write_odd_files(const std::string& directory);

/// A file of made-up words, a few hundred bytes per line.
void write_words(const std::string& path, size_t lines, uint64_t seed);

}  // namespace freshet::testing
