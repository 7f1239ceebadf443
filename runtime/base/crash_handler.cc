#include "runtime/base/crash_handler.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fmt/format.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "runtime/base/check.h"
#include "runtime/base/crash_frames.h"
#include "runtime/base/log.h"
#include "runtime/base/running_code.h"

namespace freshet {

namespace {

constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr int kReportMillis = 5000;
constexpr auto kNamingTime = std::chrono::milliseconds(1500);
constexpr unsigned kAlarmSeconds = 10;  // When not even the handler comes to its end.
constexpr size_t kStackBytes = 128u << 10;

/// A text of bounded size, that a handler may write.
struct FixedText {
  char bytes[512] = "";

  void set(std::string_view text) {
    size_t size = std::min(text.size(), sizeof(bytes) - 1);
    while (size < text.size() && size > 0 && (text[size] & 0xC0) == 0x80) --size;  // UTF-8.
    std::memcpy(bytes, text.data(), size);
    bytes[size] = 0;
  }
};

/// What the handler leaves for the thread that reports.
struct Caught {
  int signal = 0;
  pid_t sender = 0;  // Of a signal that another process sent; 0: none did.
  bool by_instruction = false;
  bool address_known = false;
  bool overflow = false;  // Of the stack.
  const void* address = nullptr;
  FixedText thread;
  bool runs_code = false;
  bool is_task = false;
  bool provoked = false;
  AttemptId attempt;
  FixedText code_name;
  int position = -1;  // Of the operator; -1: of none.
  void* frames[CrashReport::kFramesMax];
  size_t frame_count = 0;
};

struct Listener {
  std::mutex mutex;
  std::function<void(const CrashReport&)> call;
};

Caught caught;
FixedText abort_reason;
std::atomic<bool> abort_reason_noted{false};
std::atomic<pid_t> crashed_thread{0};
std::atomic<pid_t> reporting_thread{0};
std::atomic<bool> reported{false};
sem_t crashed;

Listener& listener() {
  static Listener* const instance = new Listener;  // Never destroyed: a crash comes at any time.
  return *instance;
}

pid_t this_thread() { return static_cast<pid_t>(syscall(SYS_gettid)); }

const char* name_of(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "SIGSEGV";
    case SIGBUS:
      return "SIGBUS";
    case SIGFPE:
      return "SIGFPE";
    case SIGILL:
      return "SIGILL";
    default:
      return "SIGABRT";
  }
}

// ---- In the handler ----

void say(const char* text) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, strlen(text));
}

void note_running_code() {
  const RunningCode* const code = running_code();
  if (code == nullptr) return;
  caught.runs_code = true;
  caught.is_task = code->is_task;
  caught.attempt = code->attempt;
  caught.provoked = code->provoked.load(std::memory_order_relaxed);
  const std::string* const name = code->name.load(std::memory_order_relaxed);
  if (name != nullptr) caught.code_name.set(*name);
  for (size_t i = 0; i < code->names.size(); ++i) {
    if (code->names[i] == name) caught.position = static_cast<int>(i);
  }
  if (name == nullptr && code->otherwise != nullptr) caught.code_name.set(*code->otherwise);
}

void catch_signal(int signal, const siginfo_t& info, void* context) {
  caught.signal = signal;
  caught.by_instruction = info.si_code > 0;
  if (!caught.by_instruction && info.si_pid != getpid()) caught.sender = info.si_pid;
  caught.address = info.si_addr;
  caught.address_known = caught.by_instruction && info.si_code != SI_KERNEL;
  caught.overflow =
      signal == SIGSEGV && caught.address_known && is_stack_overflow(context, info.si_addr);
  (void)pthread_getname_np(pthread_self(), caught.thread.bytes, sizeof(caught.thread.bytes));
  if (caught.sender == 0) note_running_code();  // Otherwise it is nobody's fault here.
  caught.frame_count = walk_stack(context, caught.frames, CrashReport::kFramesMax);
}

void say_what_was_caught() {
  say("freshet: ");
  say(name_of(caught.signal));
  say(" in thread ");
  say(caught.thread.bytes);
  // What reports with names may lack the memory for it.
  if (caught.signal == SIGABRT && caught.sender == 0 && abort_reason_noted.load()) {
    say(": ");
    say(abort_reason.bytes);
  }
  if (caught.code_name.bytes[0] != 0) {
    say(", in the code of '");
    say(caught.code_name.bytes);
    say("'");
  }
  say("\n");
}

void wait_for_report() {
  for (int waited = 0; waited < kReportMillis && !reported.load(); ++waited) {
    const timespec millisecond{0, 1'000'000};
    (void)nanosleep(&millisecond, nullptr);
  }
  if (reported.load()) return;
  say("freshet: the report does not come; these are the frames\n");
  backtrace_symbols_fd(caught.frames, static_cast<int>(caught.frame_count), STDERR_FILENO);
}

void end_at_last() {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  (void)sigaction(SIGALRM, &action, nullptr);
  sigset_t alarm_only;
  sigemptyset(&alarm_only);
  sigaddset(&alarm_only, SIGALRM);
  (void)pthread_sigmask(SIG_UNBLOCK, &alarm_only, nullptr);
  alarm(kAlarmSeconds);
}

void die_by(int signal) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  (void)sigaction(signal, &action, nullptr);
  (void)raise(signal);  // Comes when the handler has returned.
}

void on_signal(int signal, siginfo_t* info, void* context) {
  const pid_t self = this_thread();
  pid_t nobody = 0;
  if (!crashed_thread.compare_exchange_strong(nobody, self)) {
    const bool in_report = nobody == self || reporting_thread.load() == self;
    while (!in_report) pause();  // The first one ends all.
    return die_by(signal);
  }
  end_at_last();
  catch_signal(signal, *info, context);
  say_what_was_caught();
  sem_post(&crashed);
  wait_for_report();
  die_by(signal);
}

// ---- In the thread that reports ----

std::string reason() {
  std::string text = name_of(caught.signal);
  if (caught.sender != 0) return text + fmt::format(" sent by process {}", caught.sender);
  if (caught.signal == SIGABRT) {
    if (abort_reason_noted.load()) text += fmt::format(": {}", abort_reason.bytes);
    return text;
  }
  if (caught.overflow) return text + ": stack overflow";
  if (caught.address_known) return text + fmt::format(" at address {}", caught.address);
  if (caught.by_instruction) text += " at an address that is not known";
  return text;
}

/// The job's own code, not ours nor the system's.
bool is_of_job(const NamedFrame& frame) {
  Dl_info ours{};
  const bool known = dladdr(reinterpret_cast<const void*>(&install_crash_handler), &ours) != 0;
  const std::string& object = frame.object;
  return !object.empty() && object.find(".so") != std::string::npos &&
         (!known || object != ours.dli_fname) && !object.starts_with("/lib") &&
         !object.starts_with("/usr/lib");
}

/// A recursion says the same again and again.
void shorten_repetition(std::vector<std::string>* frames) {
  std::vector<std::string> shorter;
  for (size_t i = 0; i < frames->size();) {
    size_t end = i + 1;
    while (end < frames->size() && (*frames)[end] == (*frames)[i]) ++end;
    std::string text = std::move((*frames)[i]);
    if (end - i > 1) text += fmt::format(" ({} times in a row)", end - i);
    shorter.push_back(std::move(text));
    i = end;
  }
  frames->swap(shorter);
}

CrashReport make_report() {
  CrashReport report;
  report.reason = reason();
  report.thread = caught.thread.bytes;
  report.provoked = caught.provoked;
  if (caught.runs_code) {
    report.job = caught.attempt.job;
    if (caught.is_task) report.attempt = caught.attempt;
    report.code_name = caught.code_name.bytes;
    if (caught.position >= 0) report.position = static_cast<uint32_t>(caught.position);
  }
  return report;
}

struct Frames {
  std::vector<std::string> texts;
  std::string culprit;
  std::string culprit_object;
};

Frames name_all() {
  Frames all;
  for (NamedFrame& frame : name_frames(caught.frames, caught.frame_count)) {
    frame.text.resize(std::min(frame.text.size(), CrashReport::kFrameBytesMax));
    if (all.culprit.empty() && caught.sender == 0 && is_of_job(frame)) {
      all.culprit = frame.text;
      all.culprit_object = frame.object;
    }
    all.texts.push_back(std::move(frame.text));
  }
  shorten_repetition(&all.texts);
  return all;
}

/// Whoever crashed while a library was being loaded holds what naming waits for.
void add_frames(CrashReport* report) {
  auto named = std::make_shared<std::promise<Frames>>();
  std::future<Frames> frames = named->get_future();
  std::thread([named] { named->set_value(name_all()); }).detach();
  if (frames.wait_for(kNamingTime) == std::future_status::ready) {
    Frames all = frames.get();
    report->frames = std::move(all.texts);
    report->culprit = std::move(all.culprit);
    report->culprit_object = std::move(all.culprit_object);
    return;
  }
  for (size_t i = 0; i < caught.frame_count; ++i)
    report->frames.push_back(fmt::format("{}", caught.frames[i]));
}

void log(const CrashReport& report) {
  LOG_ERROR("process_crashes", {{"job", report.job ? report.job->to_string() : "none"},
                                {"attempt", report.attempt ? to_string(*report.attempt) : "none"},
                                {"code", report.code_name},
                                {"thread", report.thread},
                                {"cause", report.summary()}});
  for (size_t i = 0; i < report.frames.size(); ++i)
    LOG_ERROR("crash_frame", {{"index", i}, {"in", report.frames[i]}});
}

void report_crash() {
  reporting_thread.store(this_thread());
  while (sem_wait(&crashed) != 0) {
  }
  CrashReport report = make_report();
  add_frames(&report);
  {
    std::lock_guard lock(listener().mutex);
    if (listener().call) listener().call(report);
  }
  log(report);  // Last: somebody may hold standard error for ever.
  reported.store(true);
}

void start_reporting_thread() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);  // Signals for the process are others' business.
  for (const int signal : kSignals) sigdelset(&all, signal);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([] {
    (void)pthread_setname_np(pthread_self(), "crash-report");
    report_crash();
    while (true) pause();
  }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

[[noreturn]] void on_terminate() {
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
    note_abort_reason("std::terminate()");
  } catch (const std::exception& error) {
    char text[256];  // There may be no memory.
    const auto end =
        fmt::format_to_n(text, sizeof(text), "an exception that nobody catches: {}", error.what());
    note_abort_reason({text, std::min(end.size, sizeof(text))});
  } catch (...) {
    note_abort_reason("an exception that nobody catches");
  }
  std::abort();
}

/// For handlers; given back before sanitizers look at it.
class AlternateStack {
 public:
  AlternateStack() {
    memory_ =
        mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) return;
    stack_t stack{};
    stack.ss_sp = memory_;
    stack.ss_size = kStackBytes;
    installed_ = sigaltstack(&stack, &before_) == 0;
  }
  ~AlternateStack() {
    if (installed_) (void)sigaltstack(&before_, nullptr);
    if (memory_ != MAP_FAILED) (void)munmap(memory_, kStackBytes);
  }
  AlternateStack(const AlternateStack&) = delete;
  AlternateStack& operator=(const AlternateStack&) = delete;

 private:
  void* memory_ = MAP_FAILED;
  stack_t before_{};
  bool installed_ = false;
};

void use_alternate_stack() {
  thread_local const AlternateStack stack;
  (void)stack;
}

}  // namespace

void install_crash_handler() {
  CHECK(sem_init(&crashed, 0, 0) == 0);
  prepare_to_walk();
  use_alternate_stack();
  start_reporting_thread();
  std::set_terminate(on_terminate);
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const int signal : kSignals) CHECK(sigaction(signal, &action, nullptr) == 0);
}

void set_crash_listener(std::function<void(const CrashReport&)> call) {
  std::lock_guard lock(listener().mutex);
  listener().call = std::move(call);
}

bool has_crash_listener() {
  std::lock_guard lock(listener().mutex);
  return listener().call != nullptr;
}

void stay_if_crashed() {
  while (crashed_thread.load() != 0) pause();
}

void note_abort_reason(std::string_view reason) {
  abort_reason.set(reason);
  abort_reason_noted.store(true);
}

void begin_thread(std::string_view name) {
  (void)pthread_setname_np(pthread_self(), std::string(name.substr(0, 15)).c_str());
  use_alternate_stack();
}

}  // namespace freshet
