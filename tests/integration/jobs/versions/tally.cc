// One job in two versions: the second knows a field more of the same Protobuf message, and what is
// global in the module has another value. Both must live in one process, each with its own.

#include "runtime/api/job.h"
#include "runtime/connectors/file_sink.h"
#include "tally.pb.h"
#include "tests/integration/jobs/gated_sequence.h"

namespace versions {

using freshet::test::Tally;

/// Inline and static in a template: what the linker would make one of over two modules.
inline std::string version_of_module = TALLY_VERSION;
template <class T>
struct Counter {
  static inline uint64_t made = 0;
};

void set_version(Tally& tally) {
#if TALLY_HAS_VERSION
  tally.set_version(version_of_module);
#else
  (void)tally;
#endif
}

std::string line_of(const Tally& tally) {
#if TALLY_HAS_VERSION
  return version_of_module + " " + tally.word() + " " + std::to_string(tally.count()) + " " +
         tally.version();
#else
  return version_of_module + " " + tally.word() + " " + std::to_string(tally.count());
#endif
}

}  // namespace versions

FRESHET_JOB(tally) {
  using namespace versions;
  const std::string gate = env.arguments().text_or("gate", "", "file to wait for in the middle");
  const std::string output = env.path(env.arguments().text("output", "directory to make"));
  env.from_source(gated::gated_sequence(100, gate.empty() ? gate : env.path(gate)))
      .map([](int64_t number) {
        Counter<Tally>::made++;
        Tally tally;
        tally.set_word("w" + std::to_string(number % 10));
        tally.set_count(1);
        set_version(tally);
        return tally;
      })
      .key_by([](const Tally& tally) { return tally.word(); })
      .reduce(
          [](Tally& so_far, const Tally& one) { so_far.set_count(so_far.count() + one.count()); },
          freshet::Emit::final)
      .uid("tally")
      .map([](const Tally& tally) { return line_of(tally); })
      .sink_to(freshet::file_sink<std::string>(output));
}
