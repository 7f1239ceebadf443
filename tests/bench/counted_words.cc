#include "tests/bench/counted_words.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>

#include "runtime/base/file_system.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace freshet::bench {

namespace {

constexpr size_t kReadBytes = 1u << 20;

/// 0 for what separates words.
constexpr std::array<char, 256> lower_case_table() {
  std::array<char, 256> table{};
  for (int c = '0'; c <= '9'; c++) table[static_cast<size_t>(c)] = static_cast<char>(c);
  for (int c = 'a'; c <= 'z'; c++) {
    table[static_cast<size_t>(c)] = static_cast<char>(c);
    table[static_cast<size_t>(c - 'a' + 'A')] = static_cast<char>(c);
  }
  return table;
}

constexpr std::array<char, 256> kLowerCase = lower_case_table();

Duration thread_cpu_time() {
  rusage used{};
  getrusage(RUSAGE_THREAD, &used);
  Duration sum{};
  for (const timeval& time : {used.ru_utime, used.ru_stime})
    sum += std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  return sum;
}

void add_word(std::string_view word, CountedWords& counted) {
  counted.words++;
  const auto at = counted.counts.find(word);
  if (at == counted.counts.end()) {
    counted.counts.emplace(std::string(word), 1);
  } else {
    at->second++;
  }
}

/// Takes the words of [begin, end), which it changes to lower case; gives where a word begins that
/// may go on behind the end.
char* take_words(char* begin, char* end, CountedWords& counted) {
  char* word = begin;
  for (char* cursor = begin; cursor != end; cursor++) {
    const char c = kLowerCase[static_cast<unsigned char>(*cursor)];
    *cursor = c;
    if (c != 0) continue;
    if (cursor != word) add_word({word, static_cast<size_t>(cursor - word)}, counted);
    word = cursor + 1;
  }
  return word;
}

Status compare_line(const CountedWords& expected, std::string_view line) {
  const size_t blank = line.find(' ');
  uint64_t count = 0;
  if (blank == std::string_view::npos ||
      std::from_chars(line.data() + blank + 1, line.data() + line.size(), count).ptr !=
          line.data() + line.size())
    return data_loss("'" + std::string(line) + "' is not 'word count'");
  const auto at = expected.counts.find(line.substr(0, blank));
  if (at != expected.counts.end() && at->second == count) return Status();
  return data_loss("'" + std::string(line) + "' where the text has " +
                   std::to_string(at == expected.counts.end() ? 0 : at->second));
}

}  // namespace

size_t WordHash::operator()(std::string_view word) const {
  return XXH3_64bits(word.data(), word.size());
}

Result<CountedWords> count_words_by_hand(const std::string& path) {
  const auto files = make_local_file_system();
  const Duration begin = thread_cpu_time();
  ASSIGN_OR_RETURN(const auto file, files->open(path));
  CountedWords counted;
  std::string carried;  // The beginning of a word that a read has cut.
  const auto memory = std::make_unique<char[]>(2 * kReadBytes);
  for (uint64_t offset = 0;;) {
    if (carried.size() > kReadBytes)
      return resource_exhausted(path + " has a word of more than 1 MiB");
    char* const text = memory.get() + kReadBytes - carried.size();
    carried.copy(text, carried.size());
    ASSIGN_OR_RETURN(const size_t size, file->read(offset, memory.get() + kReadBytes, kReadBytes));
    if (size == 0) break;
    offset += size;
    char* const end = memory.get() + kReadBytes + size;
    carried.assign(take_words(text, end, counted), end);
  }
  if (!carried.empty()) add_word(carried, counted);
  counted.cpu_time = thread_cpu_time() - begin;
  return counted;
}

Status compare_results(const CountedWords& expected, const std::string& directory) {
  const auto files = make_local_file_system();
  ASSIGN_OR_RETURN(const auto parts, files->list(directory));
  // Every line is right and no word is missing; a word that is there twice makes one line too many.
  uint64_t lines = 0;
  uint64_t words = 0;
  for (const FileInfo& part : parts) {
    ASSIGN_OR_RETURN(const std::string text, files->read_all(part.path));
    for (std::string_view rest = text; !rest.empty(); lines++) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      RETURN_IF_ERROR(compare_line(expected, line));
      words += expected.counts.find(line.substr(0, line.find(' ')))->second;
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    }
  }
  if (lines == expected.counts.size() && words == expected.words) return Status();
  return data_loss(std::to_string(lines) + " different words with " + std::to_string(words) +
                   " in all, where the text has " + std::to_string(expected.counts.size()) +
                   " with " + std::to_string(expected.words));
}

}  // namespace freshet::bench
