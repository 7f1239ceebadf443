#include <algorithm>
#include <utility>
#include <variant>

#include "runtime/connectors/file_sink.h"
#include "runtime/connectors/sequence.h"
#include "tests/sim/sim_job.h"

namespace freshet::sim {

namespace {

constexpr int64_t kAccounts = 17;
constexpr int64_t kDeposits = 300;
constexpr int64_t kBonuses = 4;
constexpr int64_t kBookkeepers = 3;

struct Deposit {
  int64_t account = 0;
  int64_t amount = 0;
};
struct Bonus {  // For every account, once by each bookkeeper.
  int64_t amount = 0;
};
using Movement = std::variant<Deposit, Bonus>;

struct Entry {
  int64_t account = 0;
  int64_t amount = 0;
  int64_t stamp = 0;
};

Deposit deposit(int64_t number) { return Deposit{number % kAccounts, number * number % 101}; }

class Bookkeeper final : public Operator {
 public:
  explicit Bookkeeper(Stamp stamp) : stamp_(std::move(stamp)) {}

  void open(OperatorContext& context, std::vector<RecordReceiver*> outputs) override {
    context_ = &context;
    output_ = outputs.at(0);
  }

  void process(uint32_t /*input*/, const void* record, EpochMillis timestamp) override {
    const auto& movement = *static_cast<const Movement*>(record);
    if (const auto* one = std::get_if<Deposit>(&movement)) {
      return book(one->account, one->amount, timestamp);
    }
    for (int64_t account = 0; account < kAccounts; ++account) {
      book(account, std::get<Bonus>(movement).amount, timestamp);
    }
  }

 private:
  void book(int64_t account, int64_t amount, EpochMillis timestamp) {
    const Entry entry{account, amount, stamp_(*context_)};
    output_->receive(&entry, timestamp);
  }

  const Stamp stamp_;
  OperatorContext* context_ = nullptr;
  RecordReceiver* output_ = nullptr;
};

struct Total {
  int64_t account = 0;
  int64_t entries = 0;
  int64_t amount = 0;
};

std::string line_of(const Total& total) {
  return std::to_string(total.account) + ' ' + std::to_string(total.entries) + ' ' +
         std::to_string(total.amount);
}

class SumUp final : public KeyedProcessFunction<int64_t, Entry, Total> {
 public:
  void open(KeyedContext<int64_t>& context) override {
    total_ = context.value_state<Total>("total");
  }
  void process(const Entry& entry, KeyedContext<int64_t>& context, Collector<Total>&) override {
    Total total = total_.value_or(Total{context.key(), 0, 0});
    ++total.entries;
    total.amount += entry.amount;
    total_.update(total);
  }
  void on_end(KeyedContext<int64_t>&, Collector<Total>& out) override {
    out.collect(*total_.get());
  }

 private:
  ValueState<Total> total_;
};

}  // namespace

int64_t honest_stamp(OperatorContext& context) {
  return context.processing_time() ^ static_cast<int64_t>(context.random() >> 1);
}

SimJob ledger_job(Stamp stamp, const std::string& output) {
  SimJob job{.name = "ledger", .output = output};
  job.build.parallelism = 4;
  job.builder = [stamp = std::move(stamp), output](Environment& env) {
    const auto deposits =
        env.from_source(sequence(0, kDeposits - 1), "deposits")
            .map([](const int64_t& number) -> Movement { return deposit(number); });
    const auto bonuses = env.from_source(sequence(1, kBonuses), "bonuses")
                             .map([](const int64_t& number) -> Movement { return Bonus{number}; });
    deposits.rebalance()
        .union_with(bonuses.broadcast())
        .transform<Entry>("bookkeeper", make_function_factory<Bookkeeper>(stamp))
        .set_parallelism(kBookkeepers)
        .key_by(&Entry::account)
        .process(SumUp())
        .sink_to(file_sink<Total>(
            output, [](const Total& total, std::string& line) { line += line_of(total); }));
  };
  for (int64_t account = 0; account < kAccounts; ++account) {
    Total total{account, kBookkeepers * kBonuses, 0};
    for (int64_t bonus = 1; bonus <= kBonuses; ++bonus) total.amount += kBookkeepers * bonus;
    for (int64_t number = account; number < kDeposits; number += kAccounts) {
      ++total.entries;
      total.amount += number * number % 101;
    }
    job.expected.push_back(line_of(total));
  }
  std::sort(job.expected.begin(), job.expected.end());
  return job;
}

}  // namespace freshet::sim
