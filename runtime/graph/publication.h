#pragma once

#include <cstdint>
#include <string>

namespace freshet {

/// When others can see what a sink took.
enum class Visible : uint8_t {
  kUnknown,    // The sink does not say.
  kNever,      // Nobody gets it.
  kAtOnce,     // As it comes, though the job may fail and give it again.
  kCommitted,  // All of it when the job has ended, exactly once.
};

/// What a sink shows to others, and where. Values copy.
struct Publication {
  Visible visible = Visible::kUnknown;
  std::string directory;  // Of kCommitted: its files have the records as lines. Empty: elsewhere.
};

}  // namespace freshet
