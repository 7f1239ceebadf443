#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/base/encoding.h"
#include "runtime/base/time.h"

namespace freshet {

inline constexpr EpochMillis kNoTimestamp = INT64_MIN;

/// Takes records of one type: an operator's input, a chained successor, an edge. `record` points to
/// a value of the type that both ends agreed on by their fingerprints, and lives until the call
/// returns.
class RecordReceiver {
 public:
  virtual ~RecordReceiver() = default;
  virtual void receive(const void* record, EpochMillis timestamp) = 0;
};

/// Turns encoded records of one type into calls of a receiver; keeps one value to decode into.
class RecordReader {
 public:
  virtual ~RecordReader() = default;

  /// Decodes exactly one record from all of `bytes` and hands it over. Throws CodecError when bytes
  /// are bad or left over.
  virtual void read(std::string_view bytes, EpochMillis timestamp, RecordReceiver& to) = 0;
};

/// Codec and key selector of one edge. Immutable, shared by all its subtasks; thread-safe.
class EdgeType {
 public:
  virtual ~EdgeType() = default;

  virtual const std::string& fingerprint() const = 0;

  /// Bytes of every record, or 0 when they differ: then each is preceded by its length.
  virtual uint32_t fixed_size() const = 0;

  virtual void encode(const void* record, Encoder&) const = 0;
  virtual std::unique_ptr<RecordReader> make_reader() const = 0;

  /// hash_key() of the record's serialised key, for Partitioning::kHash. `scratch` is the caller's.
  virtual uint64_t key_hash(const void* record, Encoder& scratch) const = 0;

  /// The subtask, below `consumers`, for Partitioning::kDirect and kCustom.
  virtual uint32_t target(const void* record, uint32_t consumers) const = 0;
};

}  // namespace freshet
