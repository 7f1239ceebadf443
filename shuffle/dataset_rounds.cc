// The part of the DatasetIndex that tells many readers of many ends and losses.
#include <algorithm>
#include <utility>

#include "shuffle/dataset_index.h"

namespace freshet {

namespace {

// So a round for as many readers takes a small part of the time.
constexpr Duration kDelayPerReader = 10us;

/// Those of `producers` that the reader reads.
std::vector<ProducerSpan> read_by(const ChannelReader& reader, AttemptNumber attempt,
                                  const ProducerSet& producers) {
  std::vector<ProducerSpan> read;
  for (const AttachedProducers& range : reader.attachment().producers) {
    if (range.attempt == attempt) read.push_back(range.span);
  }
  return common_spans(read, producers.spans());
}

/// What one reader is to hear.
struct News {
  std::shared_ptr<ChannelReader> reader;
  std::vector<ProducerSpan> ended;
  ProducerSet lost;
};

}  // namespace

std::optional<Duration> DatasetIndex::note_round(Dataset& dataset) {
  if (std::exchange(dataset.round_due, true)) return std::nullopt;
  return kDelayPerReader * dataset.readers.size();
}

void DatasetIndex::begin_round(const std::shared_ptr<Dataset>& dataset,
                               std::optional<Duration> delay) {
  if (!delay) return;
  {
    MutexLock lock(mutex_);
    if (rounds_ != nullptr) {
      rounds_->schedule(*delay, "tell_readers", [weak = std::weak_ptr(dataset)] {
        if (const auto alive = weak.lock()) tell_round(*alive);
      });
      return;
    }
  }
  tell_round(*dataset);
}

DatasetIndex::ProducersByPlace DatasetIndex::tell_channel_ends(const Dataset& dataset,
                                                               const ProducersByAttempt& ends,
                                                               std::vector<ReaderCall>* calls) {
  ProducersByPlace with_channel;
  for (const auto& [attempt, producers] : ends) {
    for (const ProducerSpan& span : producers.spans()) {
      for (uint32_t producer = span.begin; producer < span.end; ++producer) {
        PartitionQueues& partition = *dataset.partitions.at({producer, attempt});
        partition.tell_ends(calls);
        for (const uint32_t subpartition : partition.existing())
          with_channel[{attempt, subpartition}].add({producer, producer + 1});
      }
    }
  }
  return with_channel;
}

void DatasetIndex::tell_round(Dataset& dataset) {
  std::vector<News> news;
  std::vector<ReaderCall> calls;
  {
    MutexLock lock(dataset.mutex);
    dataset.round_due = false;
    const ProducersByAttempt ends = std::exchange(dataset.untold_ends, {});
    const ProducersByAttempt losses = std::exchange(dataset.untold_losses, {});
    ProducersByPlace with_channel = tell_channel_ends(dataset, ends, &calls);
    for (const auto& [place, attached] : dataset.readers) {
      const std::shared_ptr<ChannelReader>& reader = attached.reader;
      News one{reader, {}, {}};
      for (const auto& [attempt, producers] : ends) {
        const auto without = spans_without(read_by(*reader, attempt, producers),
                                           with_channel[{attempt, place.subpartition}].spans());
        add_ends(dataset, reader, attempt, without, &one.ended, &calls);
      }
      if (ends.size() > 1) std::ranges::sort(one.ended, {}, &ProducerSpan::begin);
      for (const auto& [attempt, producers] : losses)
        one.lost.add_all(read_by(*reader, attempt, producers));
      if (!one.ended.empty() || !one.lost.empty()) news.push_back(std::move(one));
    }
  }
  tell(calls);
  for (const News& one : news) {
    if (!one.ended.empty()) one.reader->on_all_ended(one.ended);
    for (const ProducerSpan& span : one.lost.spans()) one.reader->on_lost(span, went_away(span));
  }
}

}  // namespace freshet
