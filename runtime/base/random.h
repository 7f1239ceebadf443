#pragma once

#include <cstdint>
#include <memory>

namespace freshet {

/// The only source of chance. Not thread-safe: one per owner, made from another by `fork()`.
class Random {
 public:
  virtual ~Random() = default;

  virtual uint64_t next() = 0;

  /// Uniform in [0, bound); bound > 0.
  uint64_t below(uint64_t bound);

  /// Uniform in [0, 1).
  double real();

  /// True once in `n` on average.
  bool one_in(uint64_t n) { return below(n) == 0; }

  /// An independent stream, decided by this one.
  std::unique_ptr<Random> fork();
};

/// The same seed gives the same numbers on every machine (splitmix64).
std::unique_ptr<Random> make_seeded_random(uint64_t seed);

/// Of the operating system, each number: good for secrets, unlike what it forks.
std::unique_ptr<Random> make_system_random();

}  // namespace freshet
