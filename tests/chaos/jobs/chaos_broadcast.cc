// Each record goes to all three subtasks of one operator: each must get each exactly once, also
// those that a failure does not meet.
#include "tests/chaos/jobs/numbered.h"

using namespace chaos_jobs;

namespace {

constexpr uint32_t kCopies = 3;

struct Copies {
  uint64_t id = 0;
  uint64_t copies = 0;
  uint64_t damaged = 0;
};

void print(const Copies& one, std::string& line) {
  fmt::format_to(std::back_inserter(line), "{}\tcopies={} damaged={}", one.id, one.copies,
                 one.damaged);
}

}  // namespace

FRESHET_JOB(chaos_broadcast) {
  const Given given(env);
  env.from_source(records_from(0, given.records, given.rate), "numbers")
      .rebalance()
      .map([](const Numbered& record) { return record; })
      .name("pass on")
      .broadcast()
      .map([](const Numbered& record) {
        return Copies{record.id, 1, is_whole(record) ? 0u : 1u};
      })
      .name("each gets all")
      .set_parallelism(kCopies)
      .key_by(&Copies::id)
      .reduce(
          [](Copies& so_far, const Copies& more) {
            so_far.copies += more.copies;
            so_far.damaged += more.damaged;
          },
          freshet::Emit::final)
      .name("count")
      .sink_to(freshet::file_sink<Copies>(
          given.output, [](const Copies& one, std::string& line) { print(one, line); }))
      .name("copies");
}
