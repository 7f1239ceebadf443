#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "runtime/base/encoding.h"
#include "runtime/base/key_groups.h"
#include "runtime/base/record_layout.h"
#include "runtime/base/record_output.h"
#include "runtime/base/time.h"

namespace freshet {

/// Records that are processed one after the other, given together so that an operator can look
/// ahead: ask for memory that it will need.
struct RecordBatch {
  static constexpr uint32_t kRecordsMax = 64;

  std::array<const void*, kRecordsMax> records;
  std::array<EpochMillis, kRecordsMax> timestamps;
  uint32_t count = 0;
  uint32_t begun = 0;  // By the receiver, before it processes each.
};

/// Takes records of one type: an operator's input, a chained successor, an edge. `record` points to
/// a value of the type that both ends agreed on by their fingerprints, and lives until the call
/// returns.
class RecordReceiver {
 public:
  virtual ~RecordReceiver() = default;
  virtual void receive(const void* record, EpochMillis timestamp) = 0;

  virtual void receive_batch(RecordBatch& batch) {
    while (batch.begun < batch.count) {
      const uint32_t i = batch.begun++;
      receive(batch.records[i], batch.timestamps[i]);
    }
  }
};

/// Turns encoded records of one type into calls of a receiver; keeps one value to decode into.
class RecordReader {
 public:
  virtual ~RecordReader() = default;

  /// Decodes exactly one record from all of `bytes` and hands it over. Throws CodecError when bytes
  /// are bad or left over.
  virtual void read(std::string_view bytes, EpochMillis timestamp, RecordReceiver& to) = 0;

  /// The same for all records of a run.
  virtual void read_run(RecordRun& run, RecordReceiver& to) {
    std::string_view bytes;
    EpochMillis timestamp = kNoTimestamp;
    while (run.next(&bytes, &timestamp)) read(bytes, timestamp, to);
  }

  /// How many records the last read_run() took and did not begin to process.
  virtual uint32_t read_ahead() const { return 0; }
};

/// Codec and key selector of one edge. Immutable, shared by all its subtasks; thread-safe.
class EdgeType {
 public:
  virtual ~EdgeType() = default;

  virtual const std::string& fingerprint() const = 0;

  /// Bytes of every record, or 0 when they differ: then each is preceded by its length.
  virtual uint32_t fixed_size() const = 0;

  virtual void encode(const void* record, Encoder&) const = 0;

  /// Encodes into one channel of an output.
  virtual void write(const void* record, EpochMillis timestamp, RecordOutput& output,
                     uint32_t channel) const {
    encode(record, output.begin_record(channel, timestamp));
    output.end_record();
  }

  /// The same for what is left of a batch, each into its channel; `begun` is raised before each.
  virtual void write_batch(RecordBatch& batch, RecordOutput& output,
                           const uint32_t* channels) const {
    while (batch.begun < batch.count) {
      const uint32_t i = batch.begun++;
      write(batch.records[i], batch.timestamps[i], output, channels[i]);
    }
  }

  /// Encodes into the channel of the subtask that owns the record's key, for Partitioning::kHash.
  // Not inlined: a caller would first look whether this is the one that is meant, for each record.
  [[gnu::noinline]] virtual void write_by_key(const void* record, EpochMillis timestamp,
                                              RecordOutput& output, const KeyedConsumers& consumers,
                                              Encoder& scratch) const {
    write(record, timestamp, output, consumers.subtask_of(key_hash(record, scratch)));
  }
  virtual std::unique_ptr<RecordReader> make_reader() const = 0;

  /// hash_key() of the record's serialised key, for Partitioning::kHash. `scratch` is the caller's.
  virtual uint64_t key_hash(const void* record, Encoder& scratch) const = 0;

  /// The subtask, below `consumers`, for Partitioning::kDirect and kCustom.
  virtual uint32_t target(const void* record, uint32_t consumers) const = 0;
};

}  // namespace freshet
