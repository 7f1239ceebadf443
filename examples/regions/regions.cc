// A pipelined and a blocking edge into the same operator, from the same source: were each pair of
// subtasks that the pipelined edges join a region of its own, each would wait for the files of all
// others, and none would ever begin. So they are one region, which `freshet info` shows.
#include <string>

#include "runtime/api/job.h"
#include "runtime/connectors/file_sink.h"
#include "runtime/connectors/sequence.h"

FRESHET_JOB(regions) {
  const int64_t numbers = env.arguments().integer_or("numbers", 1'000, "how many", 1, 1'000'000);
  const std::string output = env.path(env.arguments().text("output", "a new directory"));
  const auto same = [](const int64_t& number) { return number; };
  auto source = env.from_source(freshet::sequence(1, numbers)).map(same).name("numbers");
  auto squares = source.forward().map([](const int64_t& n) { return n * n; });
  squares.name("squares").disable_chaining();
  auto both =
      squares.forward().union_with(source.rebalance().exchange(freshet::Exchange::kBlocking));
  both.map(same)
      .name("both")
      .key_by([](const int64_t&) { return 0; })
      .reduce([](const int64_t& a, const int64_t& b) { return a + b; }, freshet::Emit::final)
      .name("sum")
      .sink_to(freshet::file_sink<int64_t>(output));
}
