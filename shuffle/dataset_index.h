#pragma once

#include <compare>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "runtime/base/executor.h"
#include "runtime/base/ids.h"
#include "runtime/base/mutex.h"
#include "runtime/base/thread_annotations.h"
#include "shuffle/channel_reader.h"
#include "shuffle/partition_queues.h"
#include "shuffle/stored_partition.h"
#include "shuffle/wide_limits.h"

namespace freshet {

/// Brings together the partitions of this process and those who read them, by dataset, whichever
/// comes first. A reader is kept once for all partitions of its dataset, not once per channel;
/// attaching and detaching cost a step per channel of its subpartition that exists.
///
/// Each end of a producer concerns all readers of its dataset. While these are many, such ends and
/// losses are told in rounds, all that came together meanwhile at once, as ranges: thousands of
/// producers that end before thousands of consumers cost some rounds, and not a step per channel.
///
/// Thread-safe; one lock for the list of datasets and one per dataset, under which locks of
/// PartitionQueues are taken. Readers are told things after they are left.
class DatasetIndex {
 public:
  /// `rounds` is where many readers are told; null: all is told at once. Used until shut_down().
  explicit DatasetIndex(Executor* rounds = nullptr, const WideLimits& wide = {})
      : readers_at_once_(wide.readers_at_once), has_rounds_(rounds != nullptr), rounds_(rounds) {}

  /// From now on all is told at once.
  void shut_down();

  /// kAlreadyExists when the same attempt of the same producer is here.
  Status add_partition(const std::shared_ptr<PartitionQueues>& partition);

  /// Makes a channel of a partition, with its reader if that is here.
  PartitionQueues::Channel* create_channel(const std::shared_ptr<PartitionQueues>& partition,
                                           uint32_t subpartition);

  /// The producer has pushed all it has.
  void end_partition(const std::shared_ptr<PartitionQueues>& partition);

  /// Readers that did not get everything lose the channel. Buffers left are dropped.
  void remove_partition(const std::shared_ptr<PartitionQueues>& partition);

  /// Can be read from now on. kAlreadyExists when it is there.
  Status add_stored(const std::shared_ptr<const StoredPartition>& stored);
  /// Nobody begins to read it any more; those that do lose the channel. False: it is not there.
  bool remove_stored(const StoredPartition::Name& name);
  /// All that the job has, or has of one dataset.
  void remove_all_stored(const JobId& job, std::optional<DatasetId> only = {});

  /// From now on `reader` is told of all that its attachment asks for. It takes the place of an
  /// older attempt of its consumer, which loses its channels; an older one than the present is
  /// refused. One of the same attempt stays, and loses those channels that the new one asks for.
  Status attach(const std::shared_ptr<ChannelReader>& reader);
  void detach(const ChannelReader& reader);

  size_t partition_count() const;

 private:
  struct Key {
    JobId job;
    DatasetId dataset;
    auto operator<=>(const Key&) const = default;
  };
  // On a pointwise edge several consumers read the same subpartition, each of other producers. A
  // consumer has several readers after a producer of its moved.
  struct Place {
    uint32_t subpartition = 0;
    uint32_t consumer = 0;
    uint64_t serial = 0;
    auto operator<=>(const Place&) const = default;
  };
  using PartitionList = std::vector<std::shared_ptr<PartitionQueues>>;
  using StoredList = std::vector<std::shared_ptr<const StoredPartition>>;
  using ProducerAttempt = std::pair<uint32_t, AttemptNumber>;
  using ProducersByAttempt = std::map<AttemptNumber, ProducerSet>;
  using ProducersByPlace = std::map<std::pair<AttemptNumber, uint32_t>, ProducerSet>;
  struct Attached {
    std::shared_ptr<ChannelReader> reader;
    PartitionList views;  // Of stored partitions; some of which may be gone.
  };
  /// A stored partition, and who reads it.
  struct Kept {
    std::shared_ptr<const StoredPartition> partition;
    std::vector<std::weak_ptr<PartitionQueues>> views;
    size_t views_max = kViewsMin;  // Before those that are gone are forgotten.
    bool gone = false;             // And still in a list.
  };
  using KeptList = std::vector<std::shared_ptr<Kept>>;
  static constexpr size_t kViewsMin = 8;

  struct Dataset {
    Mutex mutex;
    std::map<ProducerAttempt, std::shared_ptr<PartitionQueues>> partitions GUARDED_BY(mutex);
    std::map<Place, Attached> readers GUARDED_BY(mutex);
    // Those that have a channel of a subpartition. Looked up only.
    std::unordered_map<uint32_t, PartitionList> channels GUARDED_BY(mutex);
    ProducersByAttempt ended GUARDED_BY(mutex);  // Of `partitions`.
    std::map<ProducerAttempt, std::shared_ptr<Kept>> stored GUARDED_BY(mutex);
    // The same, by the subpartitions in which they have something; `everywhere`: in all.
    std::unordered_map<uint32_t, KeptList> filled GUARDED_BY(mutex);
    KeptList everywhere GUARDED_BY(mutex);
    size_t gone GUARDED_BY(mutex) = 0;              // That may be in these lists.
    ProducersByAttempt complete GUARDED_BY(mutex);  // Of `stored`.
    // What a round will tell.
    ProducersByAttempt untold_ends GUARDED_BY(mutex);    // Of `partitions`.
    ProducersByAttempt untold_losses GUARDED_BY(mutex);  // They are gone.
    bool round_due GUARDED_BY(mutex) = false;
    uint64_t next_serial GUARDED_BY(mutex) = 0;
    bool forgotten GUARDED_BY(mutex) = false;  // Nothing may be added any more.

    bool empty() const REQUIRES(mutex) {
      return partitions.empty() && readers.empty() && stored.empty();
    }
  };
  /// What there is to do after the locks.
  struct Afterwards {
    std::vector<ReaderCall> calls;
    std::vector<Buffer> dropped;
    StoredList to_read;  // By the reader that came.
    std::vector<ProducerSpan> ended, missing;
    PartitionList to_close;  // Views.
  };

  static Key key_of(const PartitionQueues& partition) {
    return {partition.job(), partition.dataset()};
  }
  static bool reads(const ChannelReader& reader, const PartitionQueues& partition);
  static bool reads(const ChannelReader& reader, const StoredPartition& partition);
  static const PartitionList& channels_of(const Dataset& dataset, uint32_t subpartition)
      REQUIRES(dataset.mutex);
  static void give_channels(Dataset& dataset, const std::shared_ptr<ChannelReader>& reader,
                            Afterwards* afterwards) REQUIRES(dataset.mutex);
  static void tell_ends(Dataset& dataset, const std::shared_ptr<ChannelReader>& reader,
                        Afterwards* afterwards) REQUIRES(dataset.mutex);
  /// Of `producers`, which have ended and have no channel for the reader, in `ended` those that
  /// have given it all, as ranges.
  static void add_ends(const Dataset& dataset, const std::shared_ptr<ChannelReader>& reader,
                       AttemptNumber attempt, const std::vector<ProducerSpan>& producers,
                       std::vector<ProducerSpan>* ended, std::vector<ReaderCall>* calls)
      REQUIRES(dataset.mutex);
  bool is_told_later(const Dataset& dataset) const REQUIRES(dataset.mutex) {
    return has_rounds_ && dataset.readers.size() > readers_at_once_;
  }
  /// How long until the round that is to be begun for what was noted; nothing when one is due.
  static std::optional<Duration> note_round(Dataset& dataset) REQUIRES(dataset.mutex);
  void begin_round(const std::shared_ptr<Dataset>& dataset, std::optional<Duration> delay);
  static void tell_round(Dataset& dataset);
  /// To the readers of channels in which nothing waits; returns who has channels, which know
  /// themselves what was taken.
  static ProducersByPlace tell_channel_ends(const Dataset& dataset, const ProducersByAttempt& ends,
                                            std::vector<ReaderCall>* calls) REQUIRES(dataset.mutex);
  static void take_channels(Dataset& dataset, const ChannelReader& reader, Afterwards* afterwards)
      REQUIRES(dataset.mutex);

  static void find_stored(const Dataset& dataset, const ChannelReader& reader,
                          Afterwards* afterwards) REQUIRES(dataset.mutex);
  struct AtHand {
    std::vector<ProducerBuffer> buffers;
    std::vector<ProducerSpan> producers;  // Of which these are all.
    std::vector<Buffer> scratch;
  };
  static bool take_at_hand(const StoredPartition& stored, const ChannelReader& reader,
                           AtHand* at_hand);
  void read_stored(const std::shared_ptr<Dataset>& dataset, const Place& place,
                   const std::shared_ptr<ChannelReader>& reader, const StoredList& to_read);
  /// Costs as much as it has readers; lists are gone through when half of what is in them has gone.
  static void erase_stored(Dataset& dataset, const ProducerAttempt& id, Afterwards* afterwards)
      REQUIRES(dataset.mutex);
  static void forget_gone(Dataset& dataset) REQUIRES(dataset.mutex);
  /// The partition has this view; false when it has gone.
  static bool note_view(Dataset& dataset, const std::shared_ptr<PartitionQueues>& view)
      REQUIRES(dataset.mutex);

  std::shared_ptr<Dataset> find(const Key& key) const;
  std::shared_ptr<Dataset> find_or_make(const Key& key);
  void forget_if_empty(const Key& key, const std::shared_ptr<Dataset>& dataset);

  const size_t readers_at_once_;
  const bool has_rounds_;
  mutable Mutex mutex_;
  Executor* rounds_ GUARDED_BY(mutex_);
  std::map<Key, std::shared_ptr<Dataset>> datasets_ GUARDED_BY(mutex_);
};

}  // namespace freshet
