// Word count that takes its time: each line costs --work rounds of arithmetic, so that a test can
// break something in the middle.

#include "examples/wordcount/words.h"
#include "runtime/api/job.h"
#include "runtime/connectors/elements.h"
#include "runtime/connectors/file_sink.h"
#include "runtime/connectors/sequence.h"
#include "runtime/connectors/text_files.h"

namespace {

struct WordCount {
  std::string word;
  uint64_t count = 0;
};

void append_line(const WordCount& counted, std::string& line) {
  line += counted.word + " " + std::to_string(counted.count);
}

/// About a nanosecond per round.
uint64_t spin(uint64_t seed, int64_t rounds) {
  for (int64_t i = 0; i < rounds; i++) seed = seed * 6364136223846793005u + 1442695040888963407u;
  return seed;
}

/// Takes no shortcut: the result of spin() decides nothing, but the compiler cannot know.
std::string slowly(const std::string& line, int64_t rounds) {
  return spin(line.size(), rounds) == 42 ? line + " " : line;
}

freshet::DataStream<std::string> read_lines(freshet::Environment& env) {
  const auto input = env.arguments().optional_list("input", "text files");
  if (!input.empty()) return env.from_source(freshet::text_files(env.paths(input)));
  const int64_t lines =
      env.arguments().integer_or("lines", 1000, "made up when there is no input", 0);
  return env.from_source(freshet::sequence(1, lines)).map([](int64_t number) {
    return "line w" + std::to_string(number % 100);
  });
}

}  // namespace

FRESHET_JOB(slow_count) {
  const int64_t rounds = env.arguments().integer_or("work", 1'000'000, "rounds per line", 0);
  const std::string output = env.arguments().text("output", "directory to make");
  read_lines(env)
      .rebalance()
      .map([rounds](const std::string& line) { return slowly(line, rounds); })
      .name("slow")
      .flat_map([](const std::string& line, freshet::Collector<WordCount>& out) {
        wordcount::for_each_word(line, [&](const std::string& word) {
          out.collect(WordCount{word, 1});
        });
      })
      .key_by(&WordCount::word)
      .sum(&WordCount::count, freshet::Emit::final)
      .uid("count")
      .sink_to(freshet::file_sink<WordCount>(env.path(output), append_line));
}
