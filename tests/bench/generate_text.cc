// Writes a text for benchmarks and the quickstart: words of a fixed vocabulary with Zipf
// frequencies. The same options give the same bytes on every machine.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/file_system.h"
#include "runtime/base/random.h"

namespace freshet {
namespace {

struct Options {
  uint64_t megabytes = 200;  // Of 10^6 bytes.
  uint32_t words = 100'000;  // Different ones.
  uint64_t seed = 1;
  std::string output;
};

constexpr size_t kBlockBytes = 1u << 20;
constexpr size_t kLineBytesMin = 60;

/// Different words of 3 to 10 letters, each followed by a space.
std::vector<std::string> make_vocabulary(uint32_t count, Random& random) {
  std::vector<std::string> words;
  words.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    // The letters at odd places spell the word's number, so that no two words are equal.
    std::string word;
    uint64_t rest = i;
    const size_t length_min = 3 + random.below(5);
    while (rest > 0 || word.size() < length_min) {
      word += static_cast<char>('a' + random.below(26));
      if (word.size() < 10) word += static_cast<char>('a' + rest % 26);
      rest /= 26;
    }
    words.push_back(word.substr(0, 10) + ' ');
  }
  return words;
}

/// Draws ranks with probability proportional to 1 / (rank + 1), in constant time (Walker's alias
/// method).
class ZipfRanks {
 public:
  explicit ZipfRanks(uint32_t count) : cells_(count) {
    std::vector<double> weights(count);
    double sum = 0;
    for (uint32_t i = 0; i < count; ++i) sum += weights[i] = 1.0 / (i + 1);
    std::vector<uint32_t> small;
    std::vector<uint32_t> large;
    for (uint32_t i = 0; i < count; ++i) {
      weights[i] *= count / sum;
      (weights[i] < 1 ? small : large).push_back(i);
    }
    while (!small.empty() && !large.empty()) {
      const uint32_t low = small.back();
      const uint32_t high = large.back();
      small.pop_back();
      cells_[low] = {weights[low], high};
      weights[high] -= 1 - weights[low];
      if (weights[high] < 1) {
        large.pop_back();
        small.push_back(high);
      }
    }
    for (const uint32_t rank : small) cells_[rank] = {1, rank};
    for (const uint32_t rank : large) cells_[rank] = {1, rank};
  }

  uint32_t draw(Random& random) const {
    const uint32_t cell = static_cast<uint32_t>(random.below(cells_.size()));
    return random.real() < cells_[cell].share ? cell : cells_[cell].other;
  }

 private:
  struct Cell {
    double share = 1;  // Of the cell that belongs to its own rank.
    uint32_t other = 0;
  };
  std::vector<Cell> cells_;
};

Status generate(const Options& options) {
  const std::unique_ptr<Random> random = make_seeded_random(options.seed);
  const std::vector<std::string> vocabulary = make_vocabulary(options.words, *random);
  const ZipfRanks ranks(options.words);
  const std::unique_ptr<FileSystem> files = make_local_file_system();
  const std::string unfinished = options.output + ".unfinished";
  ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, files->create(unfinished));
  std::string block;
  block.reserve(kBlockBytes + 16);
  size_t line_bytes = 0;
  for (uint64_t left = options.megabytes * 1'000'000; left > 0;) {
    block.clear();
    while (block.size() < kBlockBytes) {
      const std::string& word = vocabulary[ranks.draw(*random)];
      block += word;
      line_bytes += word.size();
      if (line_bytes < kLineBytesMin) continue;
      block.back() = '\n';
      line_bytes = 0;
    }
    if (block.size() >= left) {
      block.resize(left);
      block.back() = '\n';
    }
    RETURN_IF_ERROR(file->append(block));
    left -= block.size();
  }
  RETURN_IF_ERROR(file->close());
  return files->rename(unfinished, options.output);
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Writes a text of random words with Zipf frequencies.");
  app.add_option("--megabytes", options.megabytes, "size in units of 10^6 bytes")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--words", options.words, "different words")
      ->check(CLI::Range(1, 10'000'000))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "decides the text")->capture_default_str();
  app.add_option("--output", options.output, "file to write")->required();
  CLI11_PARSE(app, argc, argv);
  const Status status = generate(options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "freshet_generate_text: %s\n", status.to_string().c_str());
  return 1;
}

}  // namespace
}  // namespace freshet

int main(int argc, char** argv) { return freshet::run(argc, argv); }
