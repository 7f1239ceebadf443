#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/base/encoding.h"
#include "runtime/connectors/sink_operator.h"
#include "runtime/operators/source.h"

namespace freshet {

/// The results of a job in this process (local mode, tests): empty until the job commits, and
/// nothing of an attempt that failed. Thread-safe. Must be used by one sink of one job.
template <class T>
class CollectedResults {
 public:
  /// In order of subtask, then of arrival.
  std::vector<T> values() const {
    std::lock_guard lock(mutex_);
    std::vector<T> all;
    for (const auto& [subtask, values] : committed_)
      all.insert(all.end(), values.begin(), values.end());
    return all;
  }

  void prepare(uint64_t attempt, uint64_t subtask, std::vector<T> values) {
    std::lock_guard lock(mutex_);
    prepared_[{attempt, subtask}] = std::move(values);
  }

  /// False when there was no such attempt. Idempotent.
  bool commit(uint64_t attempt, uint64_t subtask) {
    std::lock_guard lock(mutex_);
    const auto it = prepared_.find({attempt, subtask});
    if (it == prepared_.end()) return false;
    committed_[subtask] = it->second;
    return true;
  }

  /// Forgets what attempts left uncommitted.
  void clean_up() {
    std::lock_guard lock(mutex_);
    prepared_.clear();
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<uint64_t, uint64_t>, std::vector<T>> prepared_;
  std::map<uint64_t, std::vector<T>> committed_;
};

namespace connectors_detail {

template <class T>
class CollectWriter final : public Operator {
 public:
  explicit CollectWriter(std::shared_ptr<CollectedResults<T>> results)
      : results_(std::move(results)) {}

  void open(OperatorContext& context, std::vector<RecordReceiver*> /*outputs*/) override {
    attempt_ = context.attempt().attempt;
    subtask_ = context.subtask();
  }

  void process(uint32_t /*input*/, const void* record, EpochMillis /*timestamp*/) override {
    values_.push_back(*static_cast<const T*>(record));
  }

  std::vector<std::string> prepare_commit() override {
    results_->prepare(attempt_, subtask_, std::move(values_));
    Encoder encoder;
    encoder.write_varint(attempt_);
    encoder.write_varint(subtask_);
    return {std::string(encoder.bytes())};
  }

 private:
  std::shared_ptr<CollectedResults<T>> results_;
  uint64_t attempt_ = 0;
  uint64_t subtask_ = 0;
  std::vector<T> values_;
};

template <class T>
class CollectCommitter final : public Committer {
 public:
  explicit CollectCommitter(std::shared_ptr<CollectedResults<T>> results)
      : results_(std::move(results)) {}

  Status commit(const std::string& payload, FileSystem& /*files*/) override {
    try {
      Decoder decoder(payload);
      const uint64_t attempt = decoder.read_varint();
      const uint64_t subtask = decoder.read_varint();
      if (results_->commit(attempt, subtask)) return Status();
    } catch (const CodecError&) {
      return invalid_argument("a committable of a collect sink is damaged");
    }
    return failed_precondition(
        "collected results are in another process: collect_sink() is for local mode");
  }

 private:
  std::shared_ptr<CollectedResults<T>> results_;
};

}  // namespace connectors_detail

/// Keeps every record in memory and gives them to `results` when the job commits.
template <class T>
Sink<T> collect_sink(std::shared_ptr<CollectedResults<T>> results) {
  SinkParts parts;
  parts.publication = {.visible = Visible::kCommitted, .directory = {}};
  parts.writer = [results] {
    return std::make_unique<connectors_detail::CollectWriter<T>>(results);
  };
  parts.committer = [results] {
    return std::make_unique<connectors_detail::CollectCommitter<T>>(results);
  };
  parts.clean_up = [results](const JobId&, FileSystem&) { results->clean_up(); };
  return {"collect", make_sink_factory(std::move(parts))};
}

}  // namespace freshet
