#include "runtime/base/random.h"

#include <unistd.h>

#include "runtime/base/check.h"

namespace freshet {

namespace {

// Sebastiano Vigna's splitmix64 (public domain): one word of state, passes BigCrush.
class SplitMix64 final : public Random {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}

  uint64_t next() override {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

/// Nobody who has seen some can tell others.
class SystemRandom final : public Random {
 public:
  uint64_t next() override {
    uint64_t word = 0;
    CHECK(::getentropy(&word, sizeof(word)) == 0);
    return word;
  }
};

}  // namespace

uint64_t Random::below(uint64_t bound) {
  CHECK(bound > 0);
  return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
}

double Random::real() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

std::unique_ptr<Random> Random::fork() { return make_seeded_random(next()); }

std::unique_ptr<Random> make_seeded_random(uint64_t seed) {
  return std::make_unique<SplitMix64>(seed);
}

std::unique_ptr<Random> make_system_random() { return std::make_unique<SystemRandom>(); }

}  // namespace freshet
