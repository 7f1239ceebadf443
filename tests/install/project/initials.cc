#include "runtime/api/job.h"
#include "runtime/connectors/file_sink.h"
#include "runtime/connectors/text_files.h"
#include "text/initial.h"

/// How many lines begin with each letter.
FRESHET_JOB(initials) {
  using Count = std::pair<std::string, int64_t>;
  const auto input = env.arguments().list("input", "files to read");
  const auto output = env.arguments().text("output", "directory to make");
  env.from_source(freshet::text_files(env.paths(input)))
      .map([](const std::string& line) { return Count(initial_of(line), 1); })
      .key_by(&Count::first)
      .sum(&Count::second, freshet::Emit::final)
      .sink_to(
          freshet::file_sink<Count>(env.path(output), [](const Count& count, std::string& line) {
            line += count.first + " " + std::to_string(count.second);
          }));
}
