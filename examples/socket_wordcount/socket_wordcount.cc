#include "examples/wordcount/words.h"
#include "runtime/api/job.h"
#include "runtime/connectors/print_sink.h"
#include "runtime/connectors/socket_text.h"

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

freshet::Source<std::string> lines_of_socket(freshet::Arguments& arguments) {
  const std::string host = arguments.text_or("host", "localhost", "who sends the text");
  const auto port =
      static_cast<uint32_t>(arguments.integer("port", "the port that it listens on", 1, 65'535));
  freshet::SocketTextOptions options;
  options.max_retries = static_cast<uint32_t>(arguments.integer_or(
      "retries", 0, "max_retries: how often to try again to connect, half a second apart", 0,
      1'000'000));
  options.line_bytes_max = static_cast<uint64_t>(arguments.integer_or(
      "line-bytes", 1 << 20, "line_bytes_max: a longer line fails the job", 1, 1 << 30));
  return freshet::socket_text(host, port, options);
}

}  // namespace

/// Prints `word count` whenever a word comes over a socket, with how often it has come until then.
FRESHET_JOB(socket_wordcount) {
  env.from_source(lines_of_socket(env.arguments()))
      .flat_map([](const std::string& line, freshet::Collector<WordCount>& out) {
        WordCount one{"", 1};
        wordcount::for_each_word(line, one.word, [&] { out.collect(one); });
      })
      .name("split")
      .key_by(&WordCount::word)
      .sum(&WordCount::count, freshet::Emit::updates)
      .name("count")
      .uid("count")
      .sink_to(freshet::print_sink<WordCount>(append_line));
}
