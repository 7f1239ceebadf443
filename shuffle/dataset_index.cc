#include "shuffle/dataset_index.h"

#include <fmt/format.h>

#include "runtime/base/check.h"

namespace freshet {

bool DatasetIndex::reads(const ChannelReader& reader, const PartitionQueues& partition) {
  const AttachedProducers* range = reader.attachment().find(partition.producer());
  return range != nullptr && range->attempt == partition.attempt() &&
         reader.attachment().subpartition < partition.subpartitions();
}

template <class Visit>
void DatasetIndex::for_each_attached(const Dataset& dataset, const ChannelReader& reader,
                                     Visit&& visit) {
  for (const auto& [id, partition] : dataset.partitions) {
    if (reads(reader, *partition)) visit(*partition);
  }
}

void DatasetIndex::forget_if_empty(const Key& key) {
  const auto at = datasets_.find(key);
  if (at != datasets_.end() && at->second.partitions.empty() && at->second.readers.empty())
    datasets_.erase(at);
}

Status DatasetIndex::add_partition(const std::shared_ptr<PartitionQueues>& partition) {
  MutexLock lock(mutex_);
  Dataset& dataset = datasets_[key_of(*partition)];
  if (!dataset.partitions.emplace(std::pair(partition->producer(), partition->attempt()), partition)
           .second) {
    return already_exists(fmt::format("partition {} of dataset {}, attempt {}",
                                      partition->producer(), partition->dataset().value,
                                      partition->attempt()));
  }
  return Status();
}

PartitionQueues::Channel* DatasetIndex::create_channel(
    const std::shared_ptr<PartitionQueues>& partition, uint32_t subpartition,
    const ChannelPosition& start) {
  std::vector<ReaderCall> calls;
  PartitionQueues::Channel* channel = nullptr;
  {
    MutexLock lock(mutex_);
    std::shared_ptr<ChannelReader> reader;
    if (const auto dataset = datasets_.find(key_of(*partition)); dataset != datasets_.end()) {
      const auto& readers = dataset->second.readers;
      for (auto at = readers.lower_bound(Place{subpartition, 0});
           at != readers.end() && at->first.subpartition == subpartition && !reader; ++at) {
        if (reads(*at->second, *partition)) reader = at->second;
      }
    }
    channel = partition->create_channel(subpartition, start, reader, &calls);
  }
  tell(calls);
  return channel;
}

void DatasetIndex::end_partition(const std::shared_ptr<PartitionQueues>& partition) {
  std::vector<ReaderCall> calls;
  {
    MutexLock lock(mutex_);
    partition->set_ended();
    for (const auto& [place, reader] : datasets_[key_of(*partition)].readers) {
      if (reads(*reader, *partition)) partition->tell_end(place.subpartition, reader, &calls);
    }
  }
  tell(calls);
}

void DatasetIndex::remove_partition(const std::shared_ptr<PartitionQueues>& partition) {
  std::vector<ReaderCall> calls;
  std::vector<std::vector<Buffer>> dropped;
  {
    MutexLock lock(mutex_);
    Dataset& dataset = datasets_[key_of(*partition)];
    for (const auto& [place, reader] : dataset.readers) {
      if (reads(*reader, *partition)) partition->tell_release(place.subpartition, reader, &calls);
    }
    dropped = partition->clear();
    dataset.partitions.erase({partition->producer(), partition->attempt()});
    forget_if_empty(key_of(*partition));
  }
  tell(calls);
}

Status DatasetIndex::attach(const std::shared_ptr<ChannelReader>& reader) {
  const Attachment& wanted = reader->attachment();
  std::vector<ReaderCall> calls;
  std::shared_ptr<ChannelReader> replaced;
  {
    MutexLock lock(mutex_);
    Dataset& dataset = datasets_[Key{wanted.job, wanted.dataset}];
    std::shared_ptr<ChannelReader>& place = dataset.readers[place_of(*reader)];
    if (place && place->attachment().consumer.attempt > wanted.consumer.attempt) {
      return aborted(
          fmt::format("attempt {} of the consumer of subpartition {} is attached already",
                      place->attachment().consumer.attempt, wanted.subpartition));
    }
    replaced = std::exchange(place, reader);
    if (replaced) {
      for_each_attached(dataset, *replaced, [&](PartitionQueues& partition) {
        partition.detach(wanted.subpartition, replaced.get());
      });
    }
    for_each_attached(dataset, *reader, [&](PartitionQueues& partition) {
      partition.attach(wanted.subpartition, reader, &calls);
    });
  }
  if (replaced) {
    for (const AttachedProducers& range : replaced->attachment().producers) {
      replaced->on_lost(range.span, aborted("a newer attempt of the consumer is attached"));
    }
  }
  tell(calls);
  return Status();
}

void DatasetIndex::detach(const ChannelReader& reader) {
  const Attachment& attachment = reader.attachment();
  std::shared_ptr<ChannelReader> removed;
  MutexLock lock(mutex_);
  const Key key{attachment.job, attachment.dataset};
  const auto dataset = datasets_.find(key);
  if (dataset == datasets_.end()) return;
  const auto at = dataset->second.readers.find(place_of(reader));
  if (at == dataset->second.readers.end() || at->second.get() != &reader) return;
  for_each_attached(dataset->second, reader, [&](PartitionQueues& partition) {
    partition.detach(attachment.subpartition, &reader);
  });
  removed = std::move(at->second);
  dataset->second.readers.erase(at);
  forget_if_empty(key);
}

size_t DatasetIndex::partition_count() const {
  MutexLock lock(mutex_);
  size_t count = 0;
  for (const auto& [key, dataset] : datasets_) count += dataset.partitions.size();
  return count;
}

}  // namespace freshet
