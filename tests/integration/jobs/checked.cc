// A job that names a checker of its results, which is right or goes wrong as an option says.
#include <unistd.h>

#include <csignal>
#include <set>
#include <stdexcept>
#include <string>

#include "runtime/api/job.h"
#include "runtime/connectors/data_generator.h"
#include "runtime/connectors/file_sink.h"

FRESHET_JOB(checked) {
  const int64_t records = env.arguments().integer_or("records", 1'000, "how many");
  const int64_t rate = env.arguments().integer_or("rate", 0, "per second");
  (void)env.arguments().text_or("checker", "right", "right, strict, throw, crash, hang or blind");
  env
      .from_source(freshet::data_generator(
          [](uint64_t i) { return i; }, static_cast<uint64_t>(records), static_cast<double>(rate)))
      .rebalance()
      .sink_to(freshet::file_sink<uint64_t>(env.path(env.arguments().text("output", "new"))))
      .name("numbers")
      .disable_chaining();
}

FRESHET_CHECK(checked) {
  const std::string how = check.arguments().text_or("checker", "right", "");
  if (how == "throw") throw std::runtime_error("it has no model");
  if (how == "crash") std::raise(SIGSEGV);
  while (how == "hang") ::pause();
  if (how == "blind") return;
  std::set<std::string> missing;
  const int64_t records = check.arguments().integer_or("records", 1'000, "");
  for (int64_t i = 0; i < records; i++) missing.insert(std::to_string(i));
  check.for_each("numbers", [&](std::string_view line) {
    if (missing.erase(std::string(line)) == 0) check.doubled(line);
  });
  for (const std::string& number : missing) check.lost(number);
  if (how == "strict") check.lost("what nobody made");
}
