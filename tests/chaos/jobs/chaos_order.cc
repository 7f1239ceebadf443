// One source of order: the records of a key must reach its state in the order in which they were
// made, each exactly once. A record that comes late, twice or never is counted where it is missed.
#include "tests/chaos/jobs/numbered.h"

using namespace chaos_jobs;

namespace {

/// Of one key: what came, and what of it came out of turn.
struct Sequence {
  uint64_t key = 0;
  uint64_t count = 0;
  uint64_t next = 0;  // The number that must come next, divided by the number of keys.
  uint64_t out_of_turn = 0;
  uint64_t damaged = 0;
};

void print(const Sequence& sequence, std::string& line) {
  fmt::format_to(std::back_inserter(line), "{}\tcount={} next={} out_of_turn={} damaged={}",
                 sequence.key, sequence.count, sequence.next, sequence.out_of_turn,
                 sequence.damaged);
}

class InTurn final : public freshet::KeyedProcessFunction<uint64_t, Numbered, Sequence> {
 public:
  explicit InTurn(uint64_t keys) : keys_(keys) {}

  void open(freshet::KeyedContext<uint64_t>& context) override {
    state_ = context.value_state<Sequence>("sequence");
  }

  void process(const Numbered& record, freshet::KeyedContext<uint64_t>& context,
               freshet::Collector<Sequence>& /*out*/) override {
    Sequence sequence = state_.value_or(Sequence{.key = context.key()});
    const uint64_t place = record.id / keys_;
    sequence.count++;
    if (place != sequence.next) sequence.out_of_turn++;
    if (!is_whole(record)) sequence.damaged++;
    sequence.next = place + 1;
    state_.update(sequence);
  }

  void on_end(freshet::KeyedContext<uint64_t>& /*context*/,
              freshet::Collector<Sequence>& out) override {
    if (state_.has_value()) out.collect(*state_.get());
  }

 private:
  uint64_t keys_;
  freshet::ValueState<Sequence> state_;
};

}  // namespace

FRESHET_JOB(chaos_order) {
  const Given given(env);
  env.from_source(records_from(0, given.records, given.rate), "numbers")
      .set_parallelism(1)
      .key_by([keys = given.keys](const Numbered& record) { return record.id % keys; })
      .process(InTurn(given.keys))
      .name("in turn")
      .sink_to(freshet::file_sink<Sequence>(
          given.output, [](const Sequence& one, std::string& line) { print(one, line); }))
      .name("sequences");
}
