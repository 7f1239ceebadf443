#include "tests/integration/results.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "runtime/base/file_system.h"
#include "runtime/base/random.h"
#include "tests/integration/freshet_process.h"

namespace freshet::testing {

namespace {

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

WordCounts count_words(const std::vector<std::string>& files) {
  WordCounts counts;
  for (const std::string& file : files) {
    std::string word;
    for (const char c : read_file(file) + "\n") {
      if (is_word_character(c)) {
        word += lower(c);
      } else if (!word.empty()) {
        counts[std::exchange(word, "")]++;
      }
    }
  }
  return counts;
}

WordCounts count_with_coreutils(const std::vector<std::string>& files) {
  std::string script = "for f in";
  for (const std::string& file : files) script += " '" + file + "'";
  script +=
      "; do LC_ALL=C tr -cs 'A-Za-z0-9' '\\n' < \"$f\"; echo; done | LC_ALL=C tr A-Z a-z | grep . "
      "| LC_ALL=C sort | uniq -c";
  const Outcome outcome = run_program("/bin/sh", {"-c", script});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  WordCounts counts;
  std::istringstream lines(outcome.output);
  uint64_t count = 0;
  for (std::string word; lines >> count >> word;) counts[word] = count;
  return counts;
}

std::vector<std::string> read_lines(const std::string& directory) {
  std::vector<std::string> lines;
  const auto entries = make_local_file_system()->list(directory);
  EXPECT_TRUE(entries.ok()) << entries.status().message();
  if (!entries.ok()) return lines;
  for (const FileInfo& entry : *entries) {
    EXPECT_FALSE(entry.is_directory) << entry.path << " is left over";
    std::istringstream text(read_file(entry.path));
    for (std::string line; std::getline(text, line);) lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

WordCounts read_word_counts(const std::string& directory) {
  WordCounts counts;
  for (const std::string& line : read_lines(directory)) {
    std::istringstream words(line);
    std::string word;
    uint64_t count = 0;
    words >> word >> count;
    EXPECT_TRUE(words && words.peek() == EOF) << "'" << line << "' is not 'word count'";
    EXPECT_TRUE(counts.emplace(word, count).second) << word << " is there twice";
  }
  return counts;
}

std::vector<std::string> license_files() {
  std::vector<std::string> files;
  const auto entries = make_local_file_system()->list("/usr/share/common-licenses");
  if (!entries.ok()) return files;
  for (const FileInfo& entry : *entries) {
    if (!entry.is_link && !entry.is_directory) files.push_back(entry.path);
  }
  return files;
}

std::vector<std::string> write_odd_files(const std::string& directory) {
  const std::pair<const char*, std::string> contents[] = {
      {"empty", ""},
      {"only-newlines", "\n\n\r\n\n"},
      {"no-newline", "One two"},
      {"ends-in-a-word", "three\nFOUR"},
      {"begins-with-a-word", "four five\n"},
      {"dos", "six seven\r\nEIGHT\r\n\r\nnine"},
      {"old-mac", "ten\releven\rtwelve\r"},
      {"mixed", "a\n\rb\r\r\nc\n\n"},
      {"return-at-the-end", "thirteen\r"},
      {"zeros", std::string("four\0teen\0\n", 11) + "fifteen"},
      {"other-alphabets", "na\xc3\xafve caf\xc3\xa9\n\xff\xfe x\x80y\n"},
      {"long-line", std::string(200'000, 'z') + " and " + std::string(100'000, ' ') + "end"},
  };
  std::vector<std::string> paths;
  for (const auto& [name, content] : contents) {
    paths.push_back(directory + "/" + name);
    write_file(paths.back(), content);
  }
  return paths;
}

void write_words(const std::string& path, size_t lines, uint64_t seed) {
  const auto random = make_seeded_random(seed);
  std::string text;
  for (size_t line = 0; line < lines; line++) {
    for (int i = 0; i < 40; i++)
      text += "Word" + std::to_string(random->below(random->below(2000) + 1)) +
              (i % 7 == 0 ? ", " : " ");
    text += line % 3 == 0 ? "\r\n" : "\n";
  }
  write_file(path, text + "last-line without newline");
}

}  // namespace freshet::testing
