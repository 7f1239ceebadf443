#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "runtime/chaos/fault.h"

namespace freshet::chaos {

/// What is wrong with the way from one process to another.
struct LinkEffect {
  bool cut = false;
  bool held = false;              // Nothing comes through.
  Duration delay{0};              // Of each byte.
  uint64_t bytes_per_second = 0;  // 0: as fast as it goes.

  bool slow() const { return delay > Duration(0) || bytes_per_second > 0; }
  bool operator==(const LinkEffect&) const = default;
};

/// The faults of links that are active, and what they make together: of two delays the longer one,
/// of two rates the lower one. Pure.
class LinkFaults {
 public:
  /// One of kCut, kHalfOpen, kSlow and kFlap; its number. A link that is any (`taskmanager`) is all
  /// of them. A flapping link begins with being cut.
  uint64_t add(const Fault&, TimePoint now);
  /// Does nothing when there is none of that number.
  void remove(uint64_t number) { active_.erase(number); }
  void clear() { active_.clear(); }

  LinkEffect effect(const std::string& from, const std::string& to, TimePoint now) const;
  /// When what flaps changes next.
  std::optional<TimePoint> next_change(TimePoint now) const;

  /// Whether the fault is about this way.
  static bool concerns(const LinkName&, const std::string& from, const std::string& to);

 private:
  struct Active {
    Fault fault;
    TimePoint since;
  };

  std::map<uint64_t, Active> active_;
  uint64_t next_number_ = 1;
};

}  // namespace freshet::chaos
