// The part of the DatasetIndex that is about stored partitions.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "runtime/base/check.h"
#include "shuffle/dataset_index.h"

namespace freshet {

bool DatasetIndex::reads(const ChannelReader& reader, const StoredPartition& partition) {
  const AttachedProducers* range = reader.attachment().find(partition.name().producer);
  return range != nullptr && range->attempt == partition.name().attempt &&
         reader.attachment().subpartition < partition.subpartitions();
}

/// What is there for a reader that comes: ends go as ranges, so that who reads thousands of
/// producers of which few have something for it costs little.
void DatasetIndex::find_stored(const Dataset& dataset, const ChannelReader& reader,
                               Afterwards* afterwards) {
  const Attachment& wanted = reader.attachment();
  if (dataset.stored.empty() && !wanted.stored) return;
  ProducerSet with_something;
  const auto add = [&](const std::shared_ptr<Kept>& kept) {
    if (kept->gone || !reads(reader, *kept->partition)) return;
    const uint32_t producer = kept->partition->name().producer;
    with_something.add({producer, producer + 1});
    afterwards->to_read.push_back(kept->partition);
  };
  for (const auto& kept : dataset.everywhere) add(kept);
  const auto filled = dataset.filled.find(wanted.subpartition);
  if (filled != dataset.filled.end()) std::ranges::for_each(filled->second, add);
  std::map<AttemptNumber, std::vector<ProducerSpan>> by_attempt;
  for (const AttachedProducers& range : wanted.producers)
    by_attempt[range.attempt].push_back(range.span);
  for (const auto& [attempt, spans] : by_attempt) {
    std::span<const ProducerSpan> here;
    const auto complete = dataset.complete.find(attempt);
    if (complete != dataset.complete.end()) here = complete->second.spans();
    const std::vector<ProducerSpan> there = common_spans(spans, here);
    std::ranges::move(spans_without(there, with_something.spans()),
                      std::back_inserter(afterwards->ended));
    if (wanted.stored)
      std::ranges::move(spans_without(spans, here), std::back_inserter(afterwards->missing));
  }
  if (by_attempt.size() > 1) std::ranges::sort(afterwards->ended, {}, &ProducerSpan::begin);
}

/// Without a lock: that takes locks of others.
void DatasetIndex::read_stored(const std::shared_ptr<Dataset>& dataset, const Place& place,
                               const std::shared_ptr<ChannelReader>& reader,
                               const StoredList& to_read) {
  if (to_read.empty()) return;
  std::vector<ReaderCall> calls;
  PartitionList views;
  AtHand at_hand;
  for (const auto& stored : to_read) {
    if (!take_at_hand(*stored, *reader, &at_hand))
      views.push_back(PartitionQueues::view(stored, reader, &calls));
  }
  if (!at_hand.producers.empty()) {
    std::ranges::sort(at_hand.producers, {}, &ProducerSpan::begin);
    reader->on_at_hand(std::move(at_hand.buffers), at_hand.producers);
  }
  PartitionList lost;
  {
    MutexLock lock(dataset->mutex);
    const auto at = dataset->readers.find(place);
    if (at != dataset->readers.end()) {
      for (const auto& view : views)
        (note_view(*dataset, view) ? at->second.views : lost).push_back(view);
      views.clear();
    }
  }
  for (const auto& view : views) view->close_view();  // It went meanwhile.
  tell(calls);
  for (const auto& view : lost) view->lose_view(not_found("it was removed"));
  for (const auto& view : lost) view->close_view();
}

bool DatasetIndex::take_at_hand(const StoredPartition& stored, const ChannelReader& reader,
                                AtHand* at_hand) {
  const uint32_t producer = stored.name().producer;
  const Attachment& wanted = reader.attachment();
  if (!reader.takes_at_hand() || wanted.next_element(producer) != 0) return false;
  if (!stored.take_at_hand(wanted.subpartition, &at_hand->scratch)) return false;
  for (Buffer& buffer : at_hand->scratch) at_hand->buffers.push_back({producer, std::move(buffer)});
  at_hand->scratch.clear();
  at_hand->producers.push_back({producer, producer + 1});
  return true;
}

bool DatasetIndex::note_view(Dataset& dataset, const std::shared_ptr<PartitionQueues>& view) {
  const auto at = dataset.stored.find(ProducerAttempt(view->producer(), view->attempt()));
  if (at == dataset.stored.end()) return false;
  Kept& kept = *at->second;
  if (kept.views.size() >= kept.views_max) {
    std::erase_if(kept.views, [](const auto& one) { return one.expired(); });
    kept.views_max = kViewsMin + 2 * kept.views.size();
  }
  kept.views.push_back(view);
  return true;
}

Status DatasetIndex::add_stored(const std::shared_ptr<const StoredPartition>& stored) {
  const StoredPartition::Name& name = stored->name();
  const std::optional<std::vector<uint32_t>> filled = stored->filled();
  std::vector<std::pair<Place, std::shared_ptr<ChannelReader>>> waiting, ended;
  std::shared_ptr<Dataset> dataset;
  while (true) {
    dataset = find_or_make(Key{name.job, name.dataset});
    MutexLock lock(dataset->mutex);
    if (dataset->forgotten) continue;
    const auto kept = std::make_shared<Kept>();
    kept->partition = stored;
    if (!dataset->stored.emplace(ProducerAttempt(name.producer, name.attempt), kept).second) {
      return already_exists(fmt::format("stored partition {} of dataset {}, attempt {}",
                                        name.producer, name.dataset.value, name.attempt));
    }
    if (!filled) dataset->everywhere.push_back(kept);
    if (filled) {
      for (const uint32_t subpartition : *filled) dataset->filled[subpartition].push_back(kept);
    }
    dataset->complete[name.attempt].add({name.producer, name.producer + 1});
    for (const auto& [place, attached] : dataset->readers) {
      if (!reads(*attached.reader, *stored)) continue;
      const bool has_some = !filled || std::ranges::binary_search(*filled, place.subpartition);
      (has_some ? waiting : ended).emplace_back(place, attached.reader);
    }
    break;
  }
  for (const auto& [place, reader] : ended) reader->on_ended({name.producer, name.producer + 1});
  for (const auto& [place, reader] : waiting) read_stored(dataset, place, reader, {stored});
  return Status();
}

void DatasetIndex::erase_stored(Dataset& dataset, const ProducerAttempt& id,
                                Afterwards* afterwards) {
  const auto at = dataset.stored.find(id);
  const std::shared_ptr<Kept> kept = std::move(at->second);
  dataset.stored.erase(at);
  kept->gone = true;
  for (const auto& view : kept->views) {
    if (auto alive = view.lock()) afterwards->to_close.push_back(std::move(alive));
  }
  kept->views.clear();
  if (++dataset.gone > dataset.stored.size()) forget_gone(dataset);
  const auto complete = dataset.complete.find(id.second);
  complete->second.remove({id.first, id.first + 1});
  if (complete->second.empty()) dataset.complete.erase(complete);
}

void DatasetIndex::forget_gone(Dataset& dataset) {
  const auto gone = [](const std::shared_ptr<Kept>& kept) { return kept->gone; };
  std::erase_if(dataset.everywhere, gone);
  for (auto& [subpartition, list] : dataset.filled) std::erase_if(list, gone);
  std::erase_if(dataset.filled, [](const auto& list) { return list.second.empty(); });
  dataset.gone = 0;
}

bool DatasetIndex::remove_stored(const StoredPartition::Name& name) {
  const Key key{name.job, name.dataset};
  const std::shared_ptr<Dataset> dataset = find(key);
  if (!dataset) return false;
  Afterwards afterwards;
  {
    MutexLock lock(dataset->mutex);
    const ProducerAttempt id(name.producer, name.attempt);
    if (!dataset->stored.contains(id)) return false;
    erase_stored(*dataset, id, &afterwards);
  }
  for (const auto& view : afterwards.to_close) view->lose_view(not_found("it was removed"));
  for (const auto& view : afterwards.to_close) view->close_view();
  forget_if_empty(key, dataset);
  return true;
}

void DatasetIndex::remove_all_stored(const JobId& job, std::optional<DatasetId> only) {
  std::vector<std::pair<Key, std::shared_ptr<Dataset>>> datasets;
  {
    MutexLock lock(mutex_);
    for (auto at = datasets_.lower_bound(Key{job, DatasetId{}});
         at != datasets_.end() && at->first.job == job; ++at) {
      if (!only || at->first.dataset == *only) datasets.emplace_back(*at);
    }
  }
  for (const auto& [key, dataset] : datasets) {
    PartitionList views;
    {
      MutexLock lock(dataset->mutex);
      dataset->stored.clear();
      dataset->filled.clear();
      dataset->everywhere.clear();
      dataset->gone = 0;
      dataset->complete.clear();
      for (auto& [place, attached] : dataset->readers)
        std::ranges::move(std::exchange(attached.views, {}), std::back_inserter(views));
    }
    for (const auto& view : views) view->lose_view(not_found("it was removed"));
    for (const auto& view : views) view->close_view();
    forget_if_empty(key, dataset);
  }
}

}  // namespace freshet
