#include "runtime/connectors/socket_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "runtime/base/memory_file_system.h"
#include "runtime/connectors/connector_error.h"
#include "tests/unit/connectors/connector_harness.h"

namespace freshet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Event = ByteStream::Event;
using enum ByteStream::Kind;

/// What a peer does, as the test wrote it down; nothing any more after that.
struct Script {
  std::deque<Event> events;
  int asked = 0;
  int closed = 0;
};

class ScriptedStream final : public ByteStream {
 public:
  explicit ScriptedStream(Script& script) : script_(script) {}
  Event next() override {
    script_.asked++;
    if (script_.events.empty()) return {};
    Event event = std::move(script_.events.front());
    script_.events.pop_front();
    return event;
  }
  void close() override { script_.closed++; }

 private:
  Script& script_;
};

/// Answers from outside, kept; or given again.
class RecordingContext final : public OperatorContext {
 public:
  RecordingContext(FakeContext& inner, std::deque<std::string>& answers, bool replaying)
      : inner_(inner), answers_(answers), replaying_(replaying) {}

  uint32_t subtask() const override { return 0; }
  uint32_t parallelism() const override { return 1; }
  uint32_t max_parallelism() const override { return 128; }
  const AttemptId& attempt() const override { return inner_.attempt(); }
  OperatorId operator_id() const override { return inner_.operator_id(); }
  const std::string& operator_name() const override { return inner_.operator_name(); }
  EpochMillis processing_time() const override { return inner_.now; }
  uint64_t random() override { return 4; }
  std::string external(const std::string&, const std::function<std::string()>& ask) override {
    if (!replaying_) {
      answers_.push_back(ask());
      return answers_.back();
    }
    std::string answer = std::move(answers_.front());
    answers_.pop_front();
    return answer;
  }
  void wake_at(EpochMillis time) override { inner_.wake_at(time); }
  FileSystem& files() override { return inner_.files(); }
  std::string setting(const std::string&) const override { return {}; }

 private:
  FakeContext& inner_;
  std::deque<std::string>& answers_;
  const bool replaying_;
};

class SocketTextTest : public ::testing::Test {
 protected:
  std::unique_ptr<SocketTextReader> open_reader(bool replaying = false) {
    context_ = std::make_unique<RecordingContext>(clock_, answers_, replaying);
    auto reader = std::make_unique<SocketTextReader>("somewhere:7", options_,
                                                     std::make_unique<ScriptedStream>(script_));
    lines_.values.clear();
    reader->open(*context_, {&lines_, &requests_});
    EXPECT_EQ(reader->poll(1), PollResult::kWaiting);
    const Split split{0, encode_range({0, 0})};
    reader->process(0, &split, kNoTimestamp);
    return reader;
  }

  /// Polls `times` times, as long as there is something.
  PollResult poll(SocketTextReader& reader, int times, uint32_t max_records = 100) {
    PollResult result = PollResult::kMore;
    for (int i = 0; i < times && result == PollResult::kMore; i++)
      result = reader.poll(max_records);
    return result;
  }

  std::string failure(SocketTextReader& reader) {
    try {
      poll(reader, 10);
    } catch (const ConnectorError& error) {
      return error.what();
    }
    return "none";
  }

  void play(std::initializer_list<Event> events) {
    script_.events.insert(script_.events.end(), events);
  }

  MemoryFileSystem files_;
  FakeContext clock_{files_};
  std::deque<std::string> answers_;
  std::unique_ptr<RecordingContext> context_;
  Script script_;
  SocketTextOptions options_;
  Received<std::string> lines_;
  Received<SplitRequest> requests_;
};

TEST_F(SocketTextTest, GivesLinesHoweverTheStreamCutsThem) {
  play({{kConnected, ""},
        {kBytes, "to be\r\nor"},
        {kNothing, ""},
        {kBytes, " not\n\nto "},
        {kBytes, "be\r"},
        {kBytes, "\nthat"},
        {kEnd, ""}});
  const auto reader = open_reader();
  poll(*reader, 100);
  EXPECT_THAT(lines_.values, ElementsAre("to be", "or not", "", "to be", "that"));
  EXPECT_EQ(reader->source_records(), 5u);
  reader->end_input(0);
  EXPECT_EQ(reader->poll(1), PollResult::kEnded);
}

TEST_F(SocketTextTest, ReadsNoMoreBeforeItsLinesAreTaken) {
  play({{kConnected, ""}, {kBytes, "a\nb\nc\n"}, {kBytes, "d\n"}});
  const auto reader = open_reader();
  poll(*reader, 2, 1);
  EXPECT_EQ(script_.asked, 2);
  for (const std::string last : {"a", "b", "c"}) {
    poll(*reader, 1, 1);
    EXPECT_EQ(lines_.values.back(), last);
    EXPECT_EQ(script_.asked, 2);
  }
  poll(*reader, 1, 1);
  EXPECT_EQ(script_.asked, 3);
}

TEST_F(SocketTextTest, FailsWithTheAddressWhenNobodyListens) {
  play({{kFailed, "Connection refused"}});
  const auto reader = open_reader();
  EXPECT_EQ(
      failure(*reader),
      "cannot connect to somewhere:7: Connection refused; see that somebody listens there, or "
      "raise max_retries (of SocketTextOptions; the job may have an option for it)");
}

TEST_F(SocketTextTest, WaitsBetweenItsAttemptsToConnect) {
  options_.max_retries = 2;
  options_.retry_delay = 300ms;
  play({{kFailed, "Connection refused"}, {kFailed, "Connection refused"}, {kFailed, "no route"}});
  const auto reader = open_reader();
  EXPECT_EQ(poll(*reader, 10), PollResult::kWaiting);
  EXPECT_EQ(clock_.wake_time, 300);
  EXPECT_EQ(poll(*reader, 10), PollResult::kWaiting);
  EXPECT_EQ(script_.asked, 1) << "woken too early";
  clock_.now = 300;
  EXPECT_EQ(poll(*reader, 10), PollResult::kWaiting);
  EXPECT_EQ(script_.asked, 2);
  clock_.now = 600;
  EXPECT_THAT(failure(*reader), HasSubstr("somewhere:7: no route (tried 3 times)"));
}

TEST_F(SocketTextTest, ConnectsAnewAfterALossAndCountsAnew) {
  options_.max_retries = 1;
  play({{kFailed, "refused"},
        {kConnected, ""},
        {kBytes, "whole\nbroken o"},
        {kFailed, "reset"},
        {kConnected, ""},
        {kBytes, "again\n"},
        {kFailed, "reset"},
        {kFailed, "refused"}});
  const auto reader = open_reader();
  for (int i = 0; i < 3; i++) {
    poll(*reader, 10);
    clock_.now += 500;
  }
  EXPECT_THAT(lines_.values, ElementsAre("whole", "again"));
  EXPECT_THAT(failure(*reader),
              HasSubstr("cannot connect to somewhere:7: refused (tried 2 times)"));
}

TEST_F(SocketTextTest, SaysThatItLostAConnection) {
  play({{kConnected, ""}, {kFailed, "Connection reset by peer"}});
  const auto reader = open_reader();
  EXPECT_THAT(failure(*reader),
              HasSubstr("lost the connection to somewhere:7: Connection reset by peer"));
}

TEST_F(SocketTextTest, GivesUpAPeerThatDoesNotAnswer) {
  options_.connect_timeout = 2s;
  const auto reader = open_reader();
  poll(*reader, 5);
  clock_.now = 2000;
  EXPECT_EQ(poll(*reader, 5), PollResult::kMore);
  clock_.now = 2001;
  EXPECT_THAT(failure(*reader), HasSubstr("somewhere:7: no answer within 2 s"));
  EXPECT_EQ(script_.closed, 1);
}

TEST_F(SocketTextTest, WaitsForAPeerThatIsSilent) {
  play({{kConnected, ""}});
  const auto reader = open_reader();
  poll(*reader, 5);
  clock_.now = 1'000'000;
  EXPECT_EQ(poll(*reader, 5), PollResult::kMore);
}

TEST_F(SocketTextTest, RefusesLinesThatAreTooLong) {
  options_.line_bytes_max = 10;
  for (const std::string& line : {std::string(11, 'x'), std::string(11, 'x') + "\n"}) {
    script_.events.clear();
    play({{kConnected, ""}, {kBytes, std::string(10, 'y') + "\n"}, {kBytes, line}});
    const auto reader = open_reader();
    EXPECT_THAT(failure(*reader), AllOf(HasSubstr("somewhere:7 sent a line of more than 10 bytes"),
                                        HasSubstr("raise line_bytes_max")));
    EXPECT_THAT(lines_.values, ElementsAre(std::string(10, 'y')));
  }
}

TEST_F(SocketTextTest, ExecutedAgainItAsksNobody) {
  options_.max_retries = 1;
  play({{kFailed, "refused"}, {kConnected, ""}, {kBytes, "a\nb"}, {kEnd, ""}});
  const auto run = [&](bool replaying) {
    clock_.now = 0;
    const auto reader = open_reader(replaying);
    poll(*reader, 10);
    clock_.now = 500;
    poll(*reader, 10);
    return lines_.values;
  };
  const auto first = run(false);
  const int asked = script_.asked;
  EXPECT_THAT(first, ElementsAre("a", "b"));
  EXPECT_EQ(run(true), first);
  EXPECT_EQ(script_.asked, asked);
  EXPECT_TRUE(answers_.empty());
}

TEST_F(SocketTextTest, IsOneReaderWithAThreadOfItsOwn) {
  const auto source = socket_text("localhost", 9999);
  EXPECT_TRUE(source.blocking);
  EXPECT_FALSE(source.bounded);
  EXPECT_EQ(source.parallelism_max, 1u);
  EXPECT_EQ(source.name, "socket localhost:9999");
  EXPECT_EQ(socket_text("::1", 1).name, "socket [::1]:1");
}

TEST_F(SocketTextTest, RefusesWhatCannotWork) {
  const auto refusal = [](const std::string& host, uint32_t port, SocketTextOptions options) {
    try {
      (void)socket_text(host, port, options);
    } catch (const ConnectorError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal("h", 1, {}), "");
  EXPECT_THAT(refusal("", 80, {}), HasSubstr("host is empty"));
  EXPECT_THAT(refusal("h", 0, {}), HasSubstr("1 to 65535"));
  EXPECT_THAT(refusal("h", 65'536, {}), HasSubstr("h:65536"));
  EXPECT_THAT(refusal("h", 1, {.retry_delay = 0ms}), HasSubstr("retry_delay"));
  EXPECT_THAT(refusal("h", 1, {.connect_timeout = 2h}), HasSubstr("connect_timeout"));
  EXPECT_THAT(refusal("h", 1, {.line_bytes_max = 0}), HasSubstr("line_bytes_max"));
}

}  // namespace
}  // namespace freshet
