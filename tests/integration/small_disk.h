#pragma once

#include <string>

#include "tests/integration/freshet_process.h"

namespace freshet::testing {

/// A file system in memory with room for a few modules. Not everybody may mount one.
class SmallDisk {
 public:
  SmallDisk();
  ~SmallDisk();
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool mounted() const { return why_.empty(); }
  /// Why it is not mounted.
  const std::string& why() const { return why_; }
  const char* path() const { return directory_.path().c_str(); }
  std::string operator/(const std::string& name) const { return directory_ / name; }

  /// Takes all that is left.
  void fill() const;
  void free() const;

 private:
  const TemporaryDirectory directory_;
  std::string why_;
};

}  // namespace freshet::testing
