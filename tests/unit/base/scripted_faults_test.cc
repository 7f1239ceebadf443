#include "runtime/base/scripted_faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>
#include <stdexcept>

#include "runtime/base/file_system.h"
#include "runtime/base/log.h"

namespace freshet {
namespace {

using testing::HasSubstr;

class ScriptedFaultsTest : public ::testing::Test {
 protected:
  ScriptedFaultsTest() {
    std::string name = std::filesystem::temp_directory_path() / "faults-XXXXXX";
    directory_ = ::mkdtemp(name.data());
  }
  ~ScriptedFaultsTest() override { std::filesystem::remove_all(directory_); }

  static std::unique_ptr<Faults> make(const std::string& script,
                                      const ScriptedFaultsOptions& options = {}) {
    auto faults = make_scripted_faults(script, options);
    EXPECT_TRUE(faults.ok()) << faults.status().to_string();
    return *std::move(faults);
  }

  std::unique_ptr<Faults> recorded(const std::string& script, const std::string& process) {
    return make(script, {process, FaultSide::kTaskManager, record()});
  }

  std::string record() const { return directory_ + "/record"; }

  std::vector<FiredFault> fired() const {
    std::istringstream lines(*make_local_file_system()->read_all(record()));
    std::vector<FiredFault> all;
    for (std::string line; std::getline(lines, line);) {
      const auto one = parse_fired_fault(line);
      EXPECT_TRUE(one) << line;
      if (one) all.push_back(*one);
    }
    return all;
  }

  /// What the end of the faults logs.
  static std::string log_of_end(std::unique_ptr<Faults> faults) {
    std::string lines;
    log_to_sink(
        [](void* to, LogLevel, std::string_view line) { *static_cast<std::string*>(to) += line; },
        &lines);
    faults.reset();
    log_to_sink(nullptr, nullptr);
    return lines;
  }

  std::string directory_;
};

TEST_F(ScriptedFaultsTest, FireAtTheNamedPassingOnly) {
  const auto faults = make("deploy.before_ack:2:throw");
  faults->at("deploy.before_ack");
  faults->at("task.before_element");
  EXPECT_THROW(faults->at("deploy.before_ack"), std::runtime_error);
  faults->at("deploy.before_ack");
}

TEST_F(ScriptedFaultsTest, FireAtEachSoManiethPassing) {
  const auto faults = make("task.after_element:every=3:throw");
  int thrown = 0;
  for (int i = 0; i < 10; ++i) {
    try {
      faults->at("task.after_element");
    } catch (const std::runtime_error&) {
      ++thrown;
    }
  }
  EXPECT_EQ(thrown, 3);
}

TEST_F(ScriptedFaultsTest, NameKnownMarksWhenOneIsUnknown) {
  EXPECT_THAT(parse_faults("deploy.after_lunch:1:kill").status().message(),
              HasSubstr("deploy.before_ack"));
}

TEST_F(ScriptedFaultsTest, RefuseWhatIsNoRule) {
  for (const char* script :
       {"x", "deploy.before_ack", "deploy.before_ack:0:kill", "deploy.before_ack:a:kill",
        "deploy.before_ack::kill", "deploy.before_ack:every=:kill",
        "deploy.before_ack:every=0:kill", "deploy.before_ack:1:explode",
        "deploy.before_ack:1:delay=x", "deploy.before_ack:1:delay=-1", "/deploy.before_ack:1:kill",
        "a b/deploy.before_ack:1:kill"}) {
    EXPECT_FALSE(parse_faults(script).ok()) << script;
  }
}

TEST_F(ScriptedFaultsTest, RefuseAMarkThatTheProcessNeverPasses) {
  EXPECT_THAT(parse_faults("jobmanager/deploy.before_ack:1:kill").status().message(),
              HasSubstr("only a TaskManager passes deploy.before_ack"));
  EXPECT_THAT(parse_faults("taskmanager-1/register.before_reply:1:kill").status().message(),
              HasSubstr("only a JobManager passes register.before_reply"));
}

TEST_F(ScriptedFaultsTest, RefuseAnExceptionWhereNobodyWouldCatchIt) {
  EXPECT_THAT(parse_faults("cancel.before_ack:1:throw").status().message(),
              HasSubstr("use kill, stop or delay"));
}

TEST_F(ScriptedFaultsTest, ConcernTheNamedProcess) {
  const std::string script = "taskmanager-2/task.after_element:1:throw";
  make(script, {"taskmanager-1", FaultSide::kTaskManager, {}})->at("task.after_element");
  const auto faults = make(script, {"taskmanager-2", FaultSide::kTaskManager, {}});
  EXPECT_THROW(faults->at("task.after_element"), std::runtime_error);
  const auto any = make("taskmanager/task.after_element:1:throw", {"local", std::nullopt, {}});
  EXPECT_THROW(any->at("task.after_element"), std::runtime_error);
}

TEST_F(ScriptedFaultsTest, ReportAtTheirEndWhatNeverFired) {
  auto faults = make("deploy.before_ack:1:throw,task.after_element:3:kill");
  EXPECT_THROW(faults->at("deploy.before_ack"), std::runtime_error);
  faults->at("task.after_element");
  EXPECT_EQ(log_of_end(std::move(faults)),
            "fault_never_fired mark=task.after_element passings=1 wanted=3");
}

TEST_F(ScriptedFaultsTest, ReportNothingThatIsForOthers) {
  EXPECT_EQ(log_of_end(make("taskmanager-2/task.after_element:1:throw,register.before_reply:1:kill",
                            {"taskmanager-1", FaultSide::kTaskManager, {}})),
            "");
}

TEST_F(ScriptedFaultsTest, AreRecorded) {
  const auto faults = recorded("task.after_element:2:throw", "taskmanager-1");
  faults->at("task.after_element");
  EXPECT_TRUE(fired().empty());
  EXPECT_THROW(faults->at("task.after_element"), std::runtime_error);
  ASSERT_EQ(fired().size(), 1u);
  EXPECT_GT(fired()[0].time, 1'600'000'000'000);
  const FiredFault expected{fired()[0].time, "taskmanager-1", "task.after_element:2:throw",
                            "task.after_element", 2};
  EXPECT_EQ(fired()[0], expected);
}

TEST_F(ScriptedFaultsTest, AreRecordedBeforeTheyKill) {
  const pid_t child = ::fork();
  if (child == 0) {
    recorded("deploy.before_ack:1:kill", "taskmanager-1")->at("deploy.before_ack");
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_EQ(fired().size(), 1u);
}

TEST_F(ScriptedFaultsTest, FireOnceInAllLivesThatHaveTheSameRecord) {
  const std::string script = "task.after_element:1:throw";
  const auto other = recorded(script, "taskmanager-2");
  EXPECT_THROW(recorded(script, "taskmanager-1")->at("task.after_element"), std::runtime_error);
  other->at("task.after_element");
  recorded(script, "taskmanager-1")->at("task.after_element");
  EXPECT_EQ(fired().size(), 1u);
}

TEST_F(ScriptedFaultsTest, OfTheSameTextFireInOneLifeAfterTheOther) {
  const std::string script = "task.after_element:1:throw,task.after_element:1:throw";
  for (int life = 0; life < 2; ++life)
    EXPECT_THROW(recorded(script, "taskmanager-1")->at("task.after_element"), std::runtime_error);
  recorded(script, "taskmanager-1")->at("task.after_element");
  EXPECT_EQ(fired().size(), 2u);
}

TEST_F(ScriptedFaultsTest, OfEachSoManiethPassingFireInEachLife) {
  const std::string script = "task.after_element:every=1:throw";
  for (int life = 0; life < 3; ++life)
    EXPECT_THROW(recorded(script, "taskmanager-1")->at("task.after_element"), std::runtime_error);
  EXPECT_EQ(fired().size(), 3u);
}

TEST_F(ScriptedFaultsTest, ReportNothingThatAnotherLifeFired) {
  const std::string script = "task.after_element:1:throw";
  auto other = recorded(script, "taskmanager-2");
  EXPECT_THROW(recorded(script, "taskmanager-1")->at("task.after_element"), std::runtime_error);
  EXPECT_EQ(log_of_end(std::move(other)), "");
  EXPECT_EQ(log_of_end(recorded(script, "taskmanager-3")), "");
}

TEST_F(ScriptedFaultsTest, NameARecordThatCannotBeWritten) {
  const auto faults = make_scripted_faults(
      "task.after_element:1:throw", {"taskmanager-1", std::nullopt, directory_ + "/no/record"});
  EXPECT_THAT(faults.status().message(), HasSubstr(directory_ + "/no/record: No such file"));
}

TEST_F(ScriptedFaultsTest, LinesThatAreNoneAreRefused) {
  for (const char* line : {"", "1 2 3 4", "x taskmanager-1 rule mark 1", "1 a b c 1 2"})
    EXPECT_FALSE(parse_fired_fault(line)) << line;
}

}  // namespace
}  // namespace freshet
