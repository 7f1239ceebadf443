#pragma once

#include <compare>
#include <map>
#include <memory>
#include <vector>

#include "runtime/base/ids.h"
#include "runtime/base/mutex.h"
#include "runtime/base/thread_annotations.h"
#include "shuffle/channel_reader.h"
#include "shuffle/partition_queues.h"

namespace freshet {

/// Brings together the partitions of this process and those who read them, by dataset, whichever
/// comes first. A reader is kept once for all partitions of its dataset, not once per channel.
///
/// Thread-safe; one lock, under which locks of PartitionQueues are taken. Readers are told things
/// after it is left.
class DatasetIndex {
 public:
  /// kAlreadyExists when the same attempt of the same producer is here.
  Status add_partition(const std::shared_ptr<PartitionQueues>& partition);

  /// Makes a channel of a partition that begins at `start`, with its reader if that is
  /// here.
  PartitionQueues::Channel* create_channel(const std::shared_ptr<PartitionQueues>& partition,
                                           uint32_t subpartition, const ChannelPosition& start);

  /// The producer has pushed all it has.
  void end_partition(const std::shared_ptr<PartitionQueues>& partition);

  /// Readers that did not get everything lose the channel. Buffers left are dropped.
  void remove_partition(const std::shared_ptr<PartitionQueues>& partition);

  /// From now on `reader` is told of all that its attachment asks for. It takes the place of an
  /// older attempt of its consumer, which loses its channels; an older one than the present is
  /// refused.
  Status attach(const std::shared_ptr<ChannelReader>& reader);
  void detach(const ChannelReader& reader);

  size_t partition_count() const;

 private:
  struct Key {
    JobId job;
    DatasetId dataset;
    auto operator<=>(const Key&) const = default;
  };
  struct Place {
    uint32_t subpartition = 0;
    uint32_t consumer = 0;
    auto operator<=>(const Place&) const = default;
  };
  struct Dataset {
    std::map<std::pair<uint32_t, AttemptNumber>, std::shared_ptr<PartitionQueues>> partitions;
    // By place. On a pointwise edge several consumers read the same subpartition, each of other
    // producers.
    std::map<Place, std::shared_ptr<ChannelReader>> readers;
  };

  static Key key_of(const PartitionQueues& partition) {
    return {partition.job(), partition.dataset()};
  }
  static Place place_of(const ChannelReader& reader) {
    return {reader.attachment().subpartition, reader.attachment().consumer.subtask.index};
  }
  static bool reads(const ChannelReader& reader, const PartitionQueues& partition);
  template <class Visit>
  static void for_each_attached(const Dataset& dataset, const ChannelReader& reader, Visit&& visit);
  void forget_if_empty(const Key& key) REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::map<Key, Dataset> datasets_ GUARDED_BY(mutex_);
};

}  // namespace freshet
