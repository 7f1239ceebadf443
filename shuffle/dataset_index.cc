#include "shuffle/dataset_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "runtime/base/check.h"

namespace freshet {

bool DatasetIndex::reads(const ChannelReader& reader, const PartitionQueues& partition) {
  const AttachedProducers* range = reader.attachment().find(partition.producer());
  return range != nullptr && range->attempt == partition.attempt() &&
         reader.attachment().subpartition < partition.subpartitions();
}

const DatasetIndex::PartitionList& DatasetIndex::channels_of(const Dataset& dataset,
                                                             uint32_t subpartition) {
  static const PartitionList kNone;
  const auto at = dataset.channels.find(subpartition);
  return at == dataset.channels.end() ? kNone : at->second;
}

std::shared_ptr<DatasetIndex::Dataset> DatasetIndex::find(const Key& key) const {
  MutexLock lock(mutex_);
  const auto at = datasets_.find(key);
  return at == datasets_.end() ? nullptr : at->second;
}

std::shared_ptr<DatasetIndex::Dataset> DatasetIndex::find_or_make(const Key& key) {
  MutexLock lock(mutex_);
  std::shared_ptr<Dataset>& dataset = datasets_[key];
  if (!dataset) dataset = std::make_shared<Dataset>();
  return dataset;
}

void DatasetIndex::forget_if_empty(const Key& key, const std::shared_ptr<Dataset>& dataset) {
  MutexLock lock(mutex_);
  MutexLock dataset_lock(dataset->mutex);
  if (!dataset->empty()) return;
  dataset->forgotten = true;
  const auto at = datasets_.find(key);
  if (at != datasets_.end() && at->second == dataset) datasets_.erase(at);
}

Status DatasetIndex::add_partition(const std::shared_ptr<PartitionQueues>& partition) {
  while (true) {
    const std::shared_ptr<Dataset> dataset = find_or_make(key_of(*partition));
    MutexLock lock(dataset->mutex);
    if (dataset->forgotten) continue;
    const std::pair id(partition->producer(), partition->attempt());
    if (dataset->partitions.emplace(id, partition).second) return Status();
    return already_exists(fmt::format("partition {} of dataset {}, attempt {}",
                                      partition->producer(), partition->dataset().value,
                                      partition->attempt()));
  }
}

PartitionQueues::Channel* DatasetIndex::create_channel(
    const std::shared_ptr<PartitionQueues>& partition, uint32_t subpartition) {
  const std::shared_ptr<Dataset> dataset = find(key_of(*partition));
  CHECK(dataset != nullptr);
  std::vector<ReaderCall> calls;
  PartitionQueues::Channel* channel = nullptr;
  {
    MutexLock lock(dataset->mutex);
    std::shared_ptr<ChannelReader> reader;  // Of several the last one to come.
    for (auto at = dataset->readers.lower_bound(Place{subpartition, 0, 0});
         at != dataset->readers.end() && at->first.subpartition == subpartition; ++at) {
      if (reads(*at->second.reader, *partition)) reader = at->second.reader;
    }
    channel = partition->create_channel(subpartition, reader, &calls);
    dataset->channels[subpartition].push_back(partition);
  }
  tell(calls);
  return channel;
}

void DatasetIndex::end_partition(const std::shared_ptr<PartitionQueues>& partition) {
  const std::shared_ptr<Dataset> dataset = find(key_of(*partition));
  CHECK(dataset != nullptr);
  std::vector<ReaderCall> calls;
  std::optional<Duration> delay;
  {
    MutexLock lock(dataset->mutex);
    partition->set_ended();
    const ProducerSpan producer{partition->producer(), partition->producer() + 1};
    dataset->ended[partition->attempt()].add(producer);
    if (is_told_later(*dataset)) {
      dataset->untold_ends[partition->attempt()].add(producer);
      delay = note_round(*dataset);
    } else {
      for (const auto& [place, attached] : dataset->readers) {
        if (reads(*attached.reader, *partition))
          partition->tell_end(place.subpartition, attached.reader, &calls);
      }
    }
  }
  begin_round(dataset, delay);
  tell(calls);
}

void DatasetIndex::remove_partition(const std::shared_ptr<PartitionQueues>& partition) {
  const std::shared_ptr<Dataset> dataset = find(key_of(*partition));
  CHECK(dataset != nullptr);
  Afterwards afterwards;
  std::optional<Duration> delay;
  {
    MutexLock lock(dataset->mutex);
    const uint32_t producer = partition->producer();
    const AttemptNumber attempt = partition->attempt();
    // Of an end that is not told yet nobody hears any more: what was not taken goes.
    const bool end_is_untold = dataset->untold_ends[attempt].contains(producer);
    if (partition->ended() && !end_is_untold) {
      partition->tell_untaken(&afterwards.calls);
    } else if (end_is_untold || is_told_later(*dataset)) {
      dataset->untold_ends[attempt].remove({producer, producer + 1});
      dataset->untold_losses[attempt].add({producer, producer + 1});
      delay = note_round(*dataset);
    } else {
      for (const auto& [place, attached] : dataset->readers) {
        if (reads(*attached.reader, *partition))
          partition->tell_release(place.subpartition, attached.reader, &afterwards.calls);
      }
    }
    for (const uint32_t subpartition : partition->existing()) {
      PartitionList& list = dataset->channels.at(subpartition);
      *std::ranges::find(list, partition) = list.back();
      list.pop_back();
      if (list.empty()) dataset->channels.erase(subpartition);
    }
    partition->clear(&afterwards.dropped);
    dataset->partitions.erase({producer, partition->attempt()});
    dataset->ended[partition->attempt()].remove({producer, producer + 1});
  }
  begin_round(dataset, delay);
  tell(afterwards.calls);
  forget_if_empty(key_of(*partition), dataset);
}

void DatasetIndex::give_channels(Dataset& dataset, const std::shared_ptr<ChannelReader>& reader,
                                 Afterwards* afterwards) {
  const uint32_t subpartition = reader->attachment().subpartition;
  for (const auto& partition : channels_of(dataset, subpartition)) {
    if (reads(*reader, *partition))
      partition->attach(subpartition, reader, &afterwards->calls, &afterwards->dropped);
  }
}

void DatasetIndex::tell_ends(Dataset& dataset, const std::shared_ptr<ChannelReader>& reader,
                             Afterwards* afterwards) {
  const Attachment& wanted = reader->attachment();
  ProducerSet with_channel;
  for (const auto& partition : channels_of(dataset, wanted.subpartition)) {
    if (reads(*reader, *partition))
      with_channel.add({partition->producer(), partition->producer() + 1});
  }
  for (const AttachedProducers& range : wanted.producers) {
    const auto ended = dataset.ended.find(range.attempt);
    if (ended == dataset.ended.end()) continue;
    for (const ProducerSpan& span : ended->second.common_with(range.span)) {
      add_ends(dataset, reader, range.attempt, with_channel.missing_in(span), &afterwards->ended,
               &afterwards->calls);
    }
  }
}

void DatasetIndex::add_ends(const Dataset& dataset, const std::shared_ptr<ChannelReader>& reader,
                            AttemptNumber attempt, const std::vector<ProducerSpan>& producers,
                            std::vector<ProducerSpan>* ended, std::vector<ReaderCall>* calls) {
  const Attachment& wanted = reader->attachment();
  for (const ProducerSpan& span : producers) {
    if (wanted.positions.empty()) {
      ended->push_back(span);
      continue;
    }
    // It may have more of one than there ever was.
    for (uint32_t producer = span.begin; producer < span.end; ++producer)
      dataset.partitions.at({producer, attempt})->tell_end(wanted.subpartition, reader, calls);
  }
}

void DatasetIndex::take_channels(Dataset& dataset, const ChannelReader& reader,
                                 Afterwards* afterwards) {
  const uint32_t subpartition = reader.attachment().subpartition;
  for (const auto& partition : channels_of(dataset, subpartition))
    partition->detach(subpartition, &reader, &afterwards->dropped);
}

Status DatasetIndex::attach(const std::shared_ptr<ChannelReader>& reader) {
  const Attachment& wanted = reader->attachment();
  const uint32_t consumer = wanted.consumer.subtask.index;
  if (wanted.subpartition_count != 1) {
    return failed_precondition(fmt::format("{} subpartitions are asked for at once, one is served",
                                           wanted.subpartition_count));
  }
  Afterwards afterwards;
  std::vector<std::shared_ptr<ChannelReader>> replaced;
  std::shared_ptr<Dataset> dataset;
  Place place;
  while (true) {
    dataset = find_or_make(Key{wanted.job, wanted.dataset});
    MutexLock lock(dataset->mutex);
    if (dataset->forgotten) continue;
    auto at = dataset->readers.lower_bound(Place{wanted.subpartition, consumer, 0});
    while (at != dataset->readers.end() && at->first.subpartition == wanted.subpartition &&
           at->first.consumer == consumer) {
      const AttemptNumber attempt = at->second.reader->attachment().consumer.attempt;
      if (attempt > wanted.consumer.attempt) {
        return aborted(
            fmt::format("attempt {} of the consumer of subpartition {} is attached already",
                        attempt, wanted.subpartition));
      }
      if (attempt == wanted.consumer.attempt) {
        ++at;
        continue;
      }
      take_channels(*dataset, *at->second.reader, &afterwards);
      std::ranges::move(at->second.views, std::back_inserter(afterwards.to_close));
      replaced.push_back(std::move(at->second.reader));
      at = dataset->readers.erase(at);
    }
    place = {wanted.subpartition, consumer, dataset->next_serial++};
    dataset->readers.emplace(place, Attached{reader, {}});
    find_stored(*dataset, *reader, &afterwards);
    tell_ends(*dataset, reader, &afterwards);
    give_channels(*dataset, reader, &afterwards);
    break;
  }
  for (const auto& older : replaced) {
    for (const AttachedProducers& range : older->attachment().producers)
      older->on_lost(range.span, aborted("a newer attempt of the consumer is attached"));
  }
  for (const auto& view : afterwards.to_close) view->close_view();
  tell(afterwards.calls);
  if (!afterwards.ended.empty()) reader->on_all_ended(afterwards.ended);
  for (const ProducerSpan& span : afterwards.missing)
    reader->on_lost(span, not_found(fmt::format("partitions of producers {} to {} of dataset {} "
                                                "are not kept here",
                                                span.begin, span.end, wanted.dataset.value)));
  read_stored(dataset, place, reader, afterwards.to_read);
  return Status();
}

void DatasetIndex::detach(const ChannelReader& reader) {
  const Attachment& attachment = reader.attachment();
  const Key key{attachment.job, attachment.dataset};
  const std::shared_ptr<Dataset> dataset = find(key);
  if (!dataset) return;
  Afterwards afterwards;
  Attached removed;
  {
    MutexLock lock(dataset->mutex);
    const uint32_t consumer = attachment.consumer.subtask.index;
    auto at = dataset->readers.lower_bound(Place{attachment.subpartition, consumer, 0});
    while (at != dataset->readers.end() && at->second.reader.get() != &reader) {
      if (at->first.subpartition != attachment.subpartition || at->first.consumer != consumer)
        return;
      ++at;
    }
    if (at == dataset->readers.end()) return;
    take_channels(*dataset, reader, &afterwards);
    removed = std::move(at->second);
    dataset->readers.erase(at);
  }
  for (const auto& view : removed.views) view->close_view();
  forget_if_empty(key, dataset);
}

void DatasetIndex::shut_down() {
  MutexLock lock(mutex_);
  rounds_ = nullptr;
}

size_t DatasetIndex::partition_count() const {
  std::vector<std::shared_ptr<Dataset>> datasets;
  {
    MutexLock lock(mutex_);
    for (const auto& [key, dataset] : datasets_) datasets.push_back(dataset);
  }
  size_t count = 0;
  for (const auto& dataset : datasets) {
    MutexLock lock(dataset->mutex);
    count += dataset->partitions.size();
  }
  return count;
}

}  // namespace freshet
