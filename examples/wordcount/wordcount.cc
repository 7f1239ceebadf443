#include <cstdio>

#include "examples/wordcount/words.h"
#include "runtime/api/job.h"
#include "runtime/connectors/discard_sink.h"
#include "runtime/connectors/elements.h"
#include "runtime/connectors/file_sink.h"
#include "runtime/connectors/print_sink.h"
#include "runtime/connectors/text_files.h"

namespace {

struct WordCount {
  std::string word;
  uint64_t count = 0;
};

void append_line(const WordCount& counted, std::string& line) {
  line += counted.word;
  line += ' ';
  line += std::to_string(counted.count);
}

/// From Hamlet, act 3, scene 1.
std::vector<std::string> built_in_text() {
  return {"To be, or not to be, that is the question:",
          "Whether 'tis nobler in the mind to suffer",
          "The slings and arrows of outrageous fortune,",
          "Or to take arms against a sea of troubles,",
          "And by opposing end them. To die: to sleep;",
          "No more; and by a sleep to say we end",
          "The heart-ache and the thousand natural shocks",
          "That flesh is heir to, 'tis a consummation",
          "Devoutly to be wish'd."};
}

freshet::DataStream<std::string> read_lines(freshet::Environment& env) {
  freshet::Arguments& arguments = env.arguments();
  const auto input = arguments.optional_list(
      "input",
      "files, directories or patterns to read; without it a built-in text is counted. Of a "
      "directory its own files are read, 'DIR/**' reads those below, too; names that begin with "
      "'.' or '_' are skipped");
  if (!input.empty()) return env.from_source(freshet::text_files(env.paths(input)));
  if (arguments.given("input")) {
    arguments.refuse("--input needs at least one file, directory or pattern");
  }
  return env.from_source(freshet::elements(built_in_text()), "built-in text");
}

/// Says how many there were in this process when the job has left it.
std::shared_ptr<freshet::DiscardedRecords> counter() {
  const auto say = [](freshet::DiscardedRecords* discarded) {
    const uint64_t count = discarded->count;
    if (count != 0) std::printf("%ju results dropped\n", static_cast<uintmax_t>(count));
    std::fflush(stdout);
    delete discarded;
  };
  return {new freshet::DiscardedRecords, say};
}

freshet::Sink<WordCount> sink(freshet::Environment& env) {
  const std::string output = env.arguments().text_or(
      "output", "", "directory to make for the results; without it they are printed");
  if (output.empty() && env.arguments().given("output")) {
    env.arguments().refuse("--output needs the name of a directory");
  }
  if (env.arguments().flag("discard", "counts the results and drops them")) {
    if (!output.empty()) env.arguments().refuse("--discard leaves nothing for --output");
    return freshet::discard_sink<WordCount>(counter());
  }
  return output.empty() ? freshet::print_sink<WordCount>(append_line)
                        : freshet::file_sink<WordCount>(env.path(output), append_line);
}

}  // namespace

/// One line `word count` for every word of the input; with --updates a line for every change.
FRESHET_JOB(wordcount) {
  const bool updates = env.arguments().flag("updates", "shows each count as it grows");

  read_lines(env)
      .flat_map([](const std::string& line, freshet::Collector<WordCount>& out) {
        WordCount one{"", 1};
        wordcount::for_each_word(line, one.word, [&] { out.collect(one); });
      })
      .name("split")
      .key_by(&WordCount::word)
      .sum(&WordCount::count, updates ? freshet::Emit::updates : freshet::Emit::final)
      .name("count")
      .uid("count")
      .sink_to(sink(env));
}
