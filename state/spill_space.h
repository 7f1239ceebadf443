#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/base/status.h"

namespace freshet {

/// Bytes for which there is no room in memory: all are appended, then all are read, from the first.
/// They go with this object. All errors name the file; after one nothing else may be called.
class SpilledBytes {
 public:
  /// Memory that one of them takes while it is written, and while it is read.
  static constexpr uint64_t kWriteMemoryBytes = 384u << 10;
  static constexpr uint64_t kReadMemoryBytes = 192u << 10;

  virtual ~SpilledBytes() = default;

  /// For people.
  virtual std::string name() const = 0;

  /// May wait for the disk, when too much is not written yet.
  virtual Status append(std::string bytes) = 0;

  /// Nothing more will be appended.
  virtual void end() = 0;

  /// After end(): the next of what was appended, at least a byte; empty behind the last. May wait
  /// for the disk.
  virtual Result<std::string> next() = 0;
};

/// What an operator has for what it collects: so much memory, and room on disk for the rest.
class SpillSpace {
 public:
  /// With less nobody can sort or aggregate.
  static constexpr uint64_t kLeastMemoryBytes = 1u << 20;

  virtual ~SpillSpace() = default;
  virtual uint64_t memory_bytes() const = 0;  // At least kLeastMemoryBytes.
  virtual bool compresses() const = 0;        // What goes to disk.
  virtual std::unique_ptr<SpilledBytes> make() = 0;
};

}  // namespace freshet
