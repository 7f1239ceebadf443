// Counts made-up words, `w0` to `w99` in turn. Reads half of them, then waits until the file --gate
// exists, so that a test can break something in the middle.

#include "runtime/api/job.h"
#include "runtime/connectors/file_sink.h"
#include "tests/integration/jobs/gated_sequence.h"

namespace {

struct WordCount {
  std::string word;
  uint64_t count = 0;
};

void append_line(const WordCount& counted, std::string& line) {
  line += counted.word + " " + std::to_string(counted.count);
}

}  // namespace

FRESHET_JOB(gated_count) {
  freshet::Arguments& arguments = env.arguments();
  const int64_t words = arguments.integer_or("words", 10'000, "how many are made up", 1);
  const std::string gate = env.path(arguments.text("gate", "file to wait for"));
  const std::string output = env.path(arguments.text("output", "directory to make"));
  env.from_source(gated::gated_sequence(words, gate))
      .map([](int64_t number) {
        return WordCount{"w" + std::to_string(number % 100), 1};
      })
      .key_by(&WordCount::word)
      .sum(&WordCount::count, freshet::Emit::final)
      .uid("count")
      .sink_to(freshet::file_sink<WordCount>(output, append_line));
}
