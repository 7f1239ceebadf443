#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "network/message_channel.h"
#include "runtime/proto/control.pb.h"
#include "tests/sim/sim_program.h"
#include "tests/sim/sim_run.h"

namespace freshet::sim {
namespace {

using Kind = proto::Envelope::MessageCase;

/// What TaskManagers and the JobManager say to each other once they know each other. A greeting and
/// a registration begin a connection: a second one there is of somebody who breaks the rules.
const std::set<Kind>& kinds_of_a_session() {
  static const std::set<Kind> kinds = {
      Kind::kHeartbeat,   Kind::kTaskStateChanged, Kind::kCommitDone,     Kind::kChannelsLost,
      Kind::kJobReleased, Kind::kDeployTasks,      Kind::kCancelTasks,    Kind::kFinishTasks,
      Kind::kCommit,      Kind::kReleaseJob,       Kind::kHeartbeatReply, Kind::kReleasePartitions};
  return kinds;
}

/// Says messages again: at once, or after others that came later. What was said in one session is
/// not said in the next one: the connection is the fence between them.
class Echo {
 public:
  explicit Echo(uint64_t seed) : random_(make_seeded_random(seed)) {}

  std::string operator()(SimProcessId from, SimProcessId to,
                         const std::vector<OutgoingBytes>& pieces) {
    std::string bytes;
    for (size_t i = 0; i < pieces.size(); ++i) {
      bytes += pieces[i].bytes;
      if (!is_header(pieces[i].bytes) || i + 1 == pieces.size()) continue;
      const std::string_view payload = pieces[++i].bytes;
      bytes += payload;
      proto::Envelope message;
      if (!message.ParseFromArray(payload.data(), static_cast<int>(payload.size()))) continue;
      if (message.has_register_task_manager() || message.has_register_reply())
        late_[{from, to}].clear();
      if (!kinds_of_a_session().contains(message.message_case())) continue;
      const std::string whole = std::string(pieces[i - 1].bytes) + std::string(payload);
      repeat({message.message_case(), whole}, late_[{from, to}], bytes);
    }
    return bytes;
  }

  const std::map<Kind, uint64_t>& doubled() const { return doubled_; }

 private:
  using Said = std::pair<Kind, std::string>;
  static constexpr size_t kLateMax = 8;

  static bool is_header(std::string_view bytes) {
    return bytes.size() == 8 && std::memcmp(bytes.data(), &kControlMagic, 4) == 0;
  }

  void repeat(Said said, std::deque<Said>& late, std::string& bytes) {
    if (random_->one_in(3)) say(said, bytes);
    if (random_->one_in(3)) late.push_back(std::move(said));
    if (late.size() > kLateMax || (!late.empty() && random_->one_in(4))) {
      say(late.front(), bytes);
      late.pop_front();
    }
  }
  void say(const Said& said, std::string& bytes) {
    bytes += said.second;
    ++doubled_[said.first];
  }

  const std::unique_ptr<Random> random_;
  std::map<std::pair<SimProcessId, SimProcessId>, std::deque<Said>> late_;
  std::map<Kind, uint64_t> doubled_;
};

class DoubledMessagesSeedTest : public testing::TestWithParam<uint64_t> {
 protected:
  void start(const SimJob& job) {
    run_ = std::make_unique<SimRun>(
        job, SimCluster::Options{.seed = GetParam(), .configuration = patient_configuration()});
    run_->world().network().rewrite(
        [this](SimProcessId from, SimProcessId to, const std::vector<OutgoingBytes>& pieces) {
          return echo_(from, to, pieces);
        });
  }
  ~DoubledMessagesSeedTest() override {
    run_->world().network().rewrite(nullptr);
    for (const auto& [kind, times] : echo_.doubled()) doubled_[kind] += times;
    ++runs_;
  }

  void expect_that_nothing_changes() {
    run_->expect_exactly_once();
    EXPECT_EQ(run_->cluster().restarts(), 0u);
    EXPECT_EQ(run_->world().log().count("task_manager_lost"), 0u) << run_->last_lines();
  }

  static void TearDownTestSuite() {
    if (runs_ < 50) return;
    for (const Kind kind : kinds_of_a_session()) EXPECT_GT(doubled_[kind], 0u) << kind;
  }

  static inline uint64_t runs_ = 0;
  static inline std::map<Kind, uint64_t> doubled_;

  Echo echo_{GetParam()};
  std::unique_ptr<SimRun> run_;
};

TEST_P(DoubledMessagesSeedTest, ChangeNothing) {
  SCOPED_TRACE(SimProgram::repeat(GetParam()));
  start(ledger_job());
  expect_that_nothing_changes();
}

TEST_P(DoubledMessagesSeedTest, ChangeNothingInBatches) {
  SCOPED_TRACE(SimProgram::repeat(GetParam()));
  start(in_batch(random_exchanges_job(GetParam())));
  expect_that_nothing_changes();
}

TEST_P(DoubledMessagesSeedTest, AreHarmlessWhenThingsBreak) {
  SCOPED_TRACE(SimProgram::repeat(GetParam()));
  start(GetParam() % 2 == 0 ? ledger_job() : in_batch(word_count_job()));
  run_->break_things();
  run_->expect_exactly_once_or_refused();
}

INSTANTIATE_TEST_SUITE_P(Seeds, DoubledMessagesSeedTest, testing::ValuesIn(SimProgram::get().seeds),
                         [](const auto& info) { return std::to_string(info.param); });

}  // namespace
}  // namespace freshet::sim
