#include "runtime/base/crash_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <future>
#include <stdexcept>
#include <thread>

#include "runtime/base/check.h"
#include "runtime/base/log.h"
#include "runtime/base/running_code.h"

namespace freshet {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::KilledBySignal;
using ::testing::Not;

/// Each crash happens in a process of its own, which starts anew.
class CrashHandlerTest : public ::testing::Test {
 protected:
  CrashHandlerTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  static void install() {
    log_to_stderr(LogLevel::kInfo);
    install_crash_handler();
    set_crash_listener([](const CrashReport& report) {
      const std::string position =
          report.position ? ", operator " + std::to_string(*report.position) : "";
      std::fprintf(stderr, "heard: code '%s', job %s, attempt %s%s%s: %s\n",
                   report.code_name.c_str(), report.job ? report.job->to_string().c_str() : "none",
                   report.attempt ? to_string(*report.attempt).c_str() : "none", position.c_str(),
                   report.provoked ? ", provoked" : "", report.reason.c_str());
    });
  }

  /// On a thread that was begun as ours are.
  static void on_thread(void (*run)()) {
    install();
    std::thread([run] {
      begin_thread("worker-7");
      run();
    }).join();
  }
};

/// Also of several threads at once, which is no race that matters.
[[gnu::noinline, gnu::no_sanitize_thread]] void write_nowhere() {
  *reinterpret_cast<volatile int*>(16) = 1;
}

[[gnu::noinline]] int call_itself(const int* depth) {
  volatile int local = *depth + 1;
  if (local == 1'000'000'000) return local;
  const int copy = local;
  return call_itself(&copy) + local;
}

void overflow() {
  const int depth = 0;
  (void)call_itself(&depth);
}

[[gnu::noinline]] void call_null() {
  void (*volatile nothing)() = nullptr;
  nothing();
  std::fprintf(stderr, "not reached\n");
}

void throw_it() { throw std::runtime_error("nobody wants this"); }
void throw_through() noexcept { throw_it(); }

void crash_in_code_of_task() {
  RunningCode code;
  code.attempt = {JobId{1, 2}, SubtaskId{VertexId{3}, 4}, 5};
  const std::string name = "my map";
  const std::string first = name;
  code.names = {&first, &name};
  code.name = &name;
  const RunningCodeScope scope(&code);
  write_nowhere();
}

void crash_in_builder() {
  RunningCode code;
  code.attempt.job = JobId{1, 2};
  code.is_task = false;
  code.provoked = true;
  const std::string name = "builder";
  code.name = &name;
  const RunningCodeScope scope(&code);
  write_nowhere();
}

void crash_behind_scopes() {
  RunningCode code;
  { const RunningCodeScope scope(&code); }
  write_nowhere();
}

void check_fails() { CHECK(1 + 1 == 3); }

TEST_F(CrashHandlerTest, SaysSignalAddressThreadAndFrames) {
  EXPECT_EXIT(on_thread(write_nowhere), KilledBySignal(SIGSEGV),
              "process_crashes job=none attempt=none code=\"\" thread=worker-7 "
              "cause=\"SIGSEGV at address 0x10\"(.|\n)*crash_frame index=0 in=.*write_nowhere");
}

TEST_F(CrashHandlerTest, NamesTheCodeOfATask) {
  EXPECT_EXIT(on_thread(crash_in_code_of_task), KilledBySignal(SIGSEGV),
              "heard: code 'my map', job 00000000000000010000000000000002, attempt 3/4#5, operator "
              "1: SIGSEGV");
}

TEST_F(CrashHandlerTest, NamesOtherCodeOfAJobAndWhatWasProvoked) {
  EXPECT_EXIT(
      on_thread(crash_in_builder), KilledBySignal(SIGSEGV),
      "heard: code 'builder', job 00000000000000010000000000000002, attempt none, provoked: ");
}

TEST_F(CrashHandlerTest, NamesNoCodeThatHasReturned) {
  EXPECT_EXIT(on_thread(crash_behind_scopes), KilledBySignal(SIGSEGV),
              "heard: code '', job none, attempt none: SIGSEGV at address 0x10");
}

TEST_F(CrashHandlerTest, KnowsTheOverflowOfAStack) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer has a stack beside the stack, and that is full first";
#endif
  EXPECT_EXIT(on_thread(overflow), KilledBySignal(SIGSEGV),
              "cause=\"SIGSEGV: stack overflow\"(.|\n)*index=0 in=.*call_itself.* times in a row");
}

TEST_F(CrashHandlerTest, KnowsWhoCalledNothing) {
  EXPECT_EXIT(on_thread(call_null), KilledBySignal(SIGSEGV), "index=1 in=.*call_null");
}

TEST_F(CrashHandlerTest, SaysWhatACheckAndAnUncaughtExceptionWere) {
  EXPECT_EXIT(on_thread(check_fails), KilledBySignal(SIGABRT),
              "heard: .*SIGABRT: .*crash_handler_test.cc:.*CHECK failed: 1 \\+ 1 == 3");
  EXPECT_EXIT(on_thread([] { throw_through(); }), KilledBySignal(SIGABRT),
              "heard: .*SIGABRT: an exception that nobody catches: nobody wants this");
}

TEST_F(CrashHandlerTest, EndsThoughTheListenerCrashesToo) {
  const auto crash = [] {
    install_crash_handler();
    set_crash_listener([](const CrashReport&) { write_nowhere(); });
    write_nowhere();
  };
  EXPECT_EXIT(crash(), KilledBySignal(SIGSEGV), "SIGSEGV in thread");
}

TEST_F(CrashHandlerTest, EndsOnceWhenSeveralThreadsCrash) {
  const auto crash = [] {
    install();
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back(write_nowhere);
    for (std::thread& thread : threads) thread.join();
  };
  EXPECT_EXIT(crash(), KilledBySignal(SIGSEGV),
              AllOf(HasSubstr("process_crashes"),
                    Not(ContainsRegex("process_crashes(.|\n)*process_crashes"))));
}

TEST_F(CrashHandlerTest, AnEndAmidACrashIsOfTheCrash) {
  const auto end = [] {
    install_crash_handler();
    std::promise<void> crashed;
    std::promise<void> ended;
    set_crash_listener([&](const CrashReport&) {
      crashed.set_value();
      ended.get_future().wait();
    });
    std::thread(write_nowhere).detach();
    crashed.get_future().wait();
    ended.set_value();
    stay_if_crashed();
    std::_Exit(0);
  };
  EXPECT_EXIT(end(), KilledBySignal(SIGSEGV), "process_crashes");
}

TEST_F(CrashHandlerTest, LeavesOtherEndsAlone) {
  const auto end = [] {
    install();
    stay_if_crashed();
    std::exit(3);
  };
  EXPECT_EXIT(end(), ::testing::ExitedWithCode(3), "^$");
}

}  // namespace
}  // namespace freshet
