// Code that does wrong where no operator runs, with --how:
//   destructor      its operator's destructor crashes
//   job-destructor  so does that of what the job as a whole holds
//   thread          a thread that the operator started crashes
//   exit            the operator calls exit()
//   _exit           it calls _exit(3)
//   kill            it sends SIGKILL to its process
//   close           it closes the descriptors from 3 on, and waits
//   build-hang      the builder does not return
// All of it happens in TaskManagers only.

#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "runtime/api/job.h"
#include "runtime/connectors/discard_sink.h"
#include "runtime/connectors/sequence.h"

namespace {

void crash() { *reinterpret_cast<volatile int*>(16) = 1; }

/// As programs do before they become daemons.
void close_descriptors() {
  for (int descriptor = 3; descriptor <= 1000; ++descriptor) close(descriptor);
  while (true) std::this_thread::sleep_for(std::chrono::milliseconds(300));
}

bool in_task_manager() {
  std::ifstream file("/proc/self/cmdline");
  std::string program;
  std::string command;
  std::getline(file, program, '\0');
  std::getline(file, command, '\0');
  return command == "taskmanager";
}

struct Held {
  explicit Held(bool crashes) : crashes_here(crashes) {}
  ~Held() {
    if (crashes_here && in_task_manager()) crash();
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  const bool crashes_here;
};

class IllBehaved {
 public:
  explicit IllBehaved(std::string how) : how_(std::move(how)) {}

  int64_t operator()(int64_t number) {
    if (how_ == "destructor" && held_ == nullptr) held_ = std::make_shared<Held>(true);
    if (how_ == "exit" && number == 500) std::exit(0);  // NOLINT: it is what is tested.
    if (how_ == "_exit" && number == 500) _exit(3);
    if (how_ == "kill" && number == 500) kill(getpid(), SIGKILL);
    if (how_ == "close" && number == 500) close_descriptors();
    if (how_ == "thread" && number == 500) std::thread(crash).join();
    return number;
  }

 private:
  const std::string how_;
  std::shared_ptr<Held> held_;
};

}  // namespace

FRESHET_JOB(ill_behaved) {
  const std::string how = env.arguments().text("how", "what goes wrong");
  while (how == "build-hang" && in_task_manager())
    std::this_thread::sleep_for(std::chrono::seconds(1));
  env.from_source(freshet::sequence(0, 999))
      .map([held = std::make_shared<Held>(how == "job-destructor")](int64_t number) {
        return number + (held->crashes_here ? 0 : 0);
      })
      .map(IllBehaved(how))
      .name("ill-behaved")
      .sink_to(freshet::discard_sink<int64_t>());
}
