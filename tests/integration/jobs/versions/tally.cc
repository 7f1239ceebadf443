// One job in two versions: the second knows a field more of the same Protobuf message, and what is
// global in the module has another value. Both must live in one process, each with its own.

#include "runtime/api/job.h"
#include "runtime/connectors/file_sink.h"
#include "runtime/connectors/sequence.h"
#include "tally.pb.h"

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

uint64_t spin(uint64_t seed, int64_t rounds) {
  for (int64_t i = 0; i < rounds; i++) seed = seed * 6364136223846793005u + 1442695040888963407u;
  return seed;
}

}  // namespace versions

FRESHET_JOB(tally) {
  using namespace versions;
  const int64_t rounds =
      env.arguments().integer_or("work", 0, "rounds of arithmetic per record", 0);
  const std::string output = env.path(env.arguments().text("output", "directory to make"));
  env.from_source(freshet::sequence(1, 100))
      .map([rounds](int64_t number) {
        Counter<Tally>::made++;
        Tally tally;
        tally.set_word(spin(static_cast<uint64_t>(number) + 1000, rounds) == 42
                           ? "?"
                           : "w" + std::to_string(number % 10));
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
