// The same record reaches the sink by two ways of different kinds; both must agree of each. A way
// that begins again without the other shows as a record that has one half, or three.
#include "tests/chaos/jobs/numbered.h"

using namespace chaos_jobs;

namespace {

struct Halves {
  uint64_t id = 0;
  uint64_t left = 0;  // How often it came.
  uint64_t right = 0;
  uint64_t left_value = 0;
  uint64_t right_value = 0;
};

void add_halves(Halves& to, const Halves& more) {
  to.left += more.left;
  to.right += more.right;
  to.left_value += more.left_value;
  to.right_value += more.right_value;
}

void print(const Halves& one, std::string& line) {
  fmt::format_to(std::back_inserter(line), "{}\tleft={} right={} {}", one.id, one.left, one.right,
                 one.left_value == one.right_value ? "agree" : "DIFFER");
}

uint64_t value_of(const Numbered& record) { return is_whole(record) ? record.value : 0; }

}  // namespace

FRESHET_JOB(chaos_diamond) {
  const Given given(env);
  const auto source = env.from_source(records_from(0, given.records, given.rate), "numbers");
  auto left = source.rebalance().map([](const Numbered& record) {
    return Halves{record.id, 1, 0, value_of(record), 0};
  });
  left.name("left");
  auto right = source.shuffle().map([](const Numbered& record) {
    return Halves{record.id, 0, 1, 0, value_of(record)};
  });
  right.name("right");
  left.union_with(right)
      .key_by(&Halves::id)
      .reduce(add_halves, freshet::Emit::final)
      .name("both")
      .sink_to(freshet::file_sink<Halves>(
          given.output, [](const Halves& one, std::string& line) { print(one, line); }))
      .name("pairs");
}
