#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/base/ids.h"
#include "runtime/base/status.h"
#include "shuffle/buffer.h"

namespace freshet {

/// The buffers of one channel for one reader, in order, from where they are kept.
///
/// Belongs to whoever takes, one at a time; takes only locks of its own, under which nobody is
/// called.
class BufferSource {
 public:
  virtual ~BufferSource() = default;

  /// Nullopt when there is none now (then `wake` will be called), or none any more. An error is for
  /// good: the rest is lost.
  virtual Result<std::optional<Buffer>> take() = 0;

  /// All was taken.
  virtual bool ended() const = 0;

  /// About as much can be taken without waiting.
  virtual uint64_t waiting_bytes() const = 0;
};

/// A partition that is complete, and can be read by anybody any number of times.
///
/// Immutable; thread-safe.
class StoredPartition : public std::enable_shared_from_this<StoredPartition> {
 public:
  struct Name {
    JobId job;
    DatasetId dataset;
    uint32_t producer = 0;
    AttemptNumber attempt = 0;
    auto operator<=>(const Name&) const = default;
  };

  StoredPartition(const Name& name, uint32_t subpartitions, uint32_t fixed_record_size)
      : name_(name), subpartitions_(subpartitions), fixed_record_size_(fixed_record_size) {}
  virtual ~StoredPartition() = default;

  const Name& name() const { return name_; }
  uint32_t subpartitions() const { return subpartitions_; }
  uint32_t fixed_record_size() const { return fixed_record_size_; }

  /// The subpartitions in which something is, rising; nullopt: in all.
  virtual std::optional<std::vector<uint32_t>> filled() const = 0;

  /// Adds all that the subpartition has, when nobody has to wait for it. False, and nothing is
  /// added: read() it.
  virtual bool take_at_hand(uint32_t subpartition, std::vector<Buffer>* buffers) const = 0;

  /// Of one subpartition from an element on. `wake`: on any thread, also after the source has gone.
  virtual std::unique_ptr<BufferSource> read(uint32_t subpartition, uint64_t next_element,
                                             std::function<void()> wake) const = 0;

  /// Whoever takes is told of an error there, and not where it takes.
  virtual void later(std::function<void()> function) const = 0;

 private:
  const Name name_;
  const uint32_t subpartitions_;
  const uint32_t fixed_record_size_;
};

}  // namespace freshet
