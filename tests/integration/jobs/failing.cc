// Fails where --where says: build, build-differently, open, map (at number --at), or map-once,
// which fails only while the directory --once could be made, so that the second attempt succeeds.
// build-crash and build-hang never come to an end of the builder.
// map-stuck makes the directory --once and does not return.
// two-sinks: in two ways to write the same directory.

#include <filesystem>
#include <stdexcept>
#include <thread>

#include "runtime/api/job.h"
#include "runtime/connectors/file_sink.h"
#include "runtime/connectors/sequence.h"

namespace {

class FailingOpen : public freshet::KeyedProcessFunction<int64_t, int64_t, int64_t> {
 public:
  explicit FailingOpen(bool fails) : fails_(fails) {}
  void open(freshet::KeyedContext<int64_t>& /*context*/) override {
    if (fails_) throw std::runtime_error("this operator cannot be opened");
  }
  void process(const int64_t& number, freshet::KeyedContext<int64_t>& /*context*/,
               freshet::Collector<int64_t>& out) override {
    out.collect(number);
  }

 private:
  bool fails_;
};

struct Failure {
  std::string where;
  int64_t at = 0;
  std::string once;

  [[noreturn]] void get_stuck() const {
    std::filesystem::create_directory(once);
    while (true) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }

  void maybe(int64_t number) const {
    if (number != at) return;
    if (where == "map") throw std::runtime_error("there is no number " + std::to_string(number));
    if (where == "map-stuck") get_stuck();
    if (where == "map-once" && std::filesystem::create_directory(once)) {
      throw std::runtime_error("there is no number " + std::to_string(number) + " yet");
    }
  }
};

/// The forbidden thing: a builder with a memory.
int builds() {
  static int count = 0;
  return ++count;
}

}  // namespace

FRESHET_JOB(failing) {
  freshet::Arguments& arguments = env.arguments();
  Failure failure;
  failure.where = arguments.text(
      "where", "build, build-differently, two-sinks, open, map, map-once, map-stuck or nowhere");
  failure.at = arguments.integer_or("at", 500, "the number that fails");
  failure.once = env.path(arguments.text_or("once", "", "directory that remembers the failure"));
  const std::string output = env.path(arguments.text("output", "directory to make"));
  if (failure.where == "build") throw std::runtime_error("this job cannot be built");
  if (failure.where == "build-crash") *reinterpret_cast<volatile int*>(16) = 1;
  while (failure.where == "build-hang") std::this_thread::sleep_for(std::chrono::seconds(1));

  auto numbers = env.from_source(freshet::sequence(1, 1000));
  if (failure.where == "build-differently" && builds() % 2 == 0) {
    numbers = numbers.filter([](int64_t) { return true; });
  }
  if (failure.where == "two-sinks") {
    numbers.sink_to(freshet::file_sink<int64_t>(output + "/../" + output.substr(output.rfind('/'))))
        .name("second sink");
  }
  numbers
      .map([failure](int64_t number) {
        failure.maybe(number);
        return number;
      })
      .name("careful map")
      .key_by([](int64_t number) { return number % 10; })
      .process(FailingOpen(failure.where == "open"))
      .name("careful process")
      .sink_to(freshet::file_sink<int64_t>(output));
}
