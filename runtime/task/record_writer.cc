#include "runtime/task/record_writer.h"

#include <array>
#include <exception>

#include "runtime/base/check.h"
#include "runtime/base/key_groups.h"

namespace freshet {

namespace {

/// `Choose(record)` gives the subpartition; chosen at compile time, because every record passes
/// here.
template <class Choose>
class ChoosingWriter final : public RecordWriter {
 public:
  ChoosingWriter(const EdgeType& type, ResultPartition& partition, Choose choose)
      : type_(type), partition_(partition), choose_(std::move(choose)) {}

  void receive(const void* record, EpochMillis timestamp) override {
    guarded([&] {
      const uint32_t subpartition = choose_(record, status_);
      if (!status_.ok()) [[unlikely]]
        return;
      type_.write(record, timestamp, partition_, subpartition);
    });
  }

  void receive_batch(RecordBatch& batch) override {
    if constexpr (!Choose::kLooksAtRecords) {
      guarded([&] {
        std::array<uint32_t, RecordBatch::kRecordsMax> chosen;
        for (uint32_t i = batch.begun; i < batch.count; ++i)
          chosen[i] = choose_(batch.records[i], status_);
        type_.write_batch(batch, partition_, chosen.data());
      });
    } else {
      RecordReceiver::receive_batch(batch);
    }
  }

 private:
  const EdgeType& type_;
  ResultPartition& partition_;
  Choose choose_;
};

template <class Choose>
std::unique_ptr<RecordWriter> make_choosing(const EdgeType& type, ResultPartition& partition,
                                            Choose choose) {
  return std::make_unique<ChoosingWriter<Choose>>(type, partition, std::move(choose));
}

/// The type knows the key.
class KeyedWriter final : public RecordWriter {
 public:
  KeyedWriter(const EdgeType& type, ResultPartition& partition, KeyedConsumers consumers)
      : type_(type), partition_(partition), consumers_(consumers) {}

  void receive(const void* record, EpochMillis timestamp) override {
    guarded([&] { type_.write_by_key(record, timestamp, partition_, consumers_, scratch_); });
  }

 private:
  const EdgeType& type_;
  ResultPartition& partition_;
  const KeyedConsumers consumers_;
  Encoder scratch_;
};

struct TheOnlyOne {
  static constexpr bool kLooksAtRecords = false;

  uint32_t operator()(const void*, Status&) { return 0; }
};

struct RoundRobin {
  static constexpr bool kLooksAtRecords = false;
  uint32_t subpartitions;
  uint32_t next;

  uint32_t operator()(const void*, Status&) {
    const uint32_t chosen = next;
    next = next + 1 == subpartitions ? 0 : next + 1;
    return chosen;
  }
};

struct AtRandom {
  static constexpr bool kLooksAtRecords = false;
  Decisions* decisions;
  uint32_t subpartitions;

  uint32_t operator()(const void*, Status&) {
    return subpartitions == 1 ? 0 : decisions->random_below(subpartitions);
  }
};

struct ByTarget {
  static constexpr bool kLooksAtRecords = true;
  const EdgeType* type;
  uint32_t parallelism;

  uint32_t operator()(const void* record, Status& status) {
    const uint32_t target = type->target(record, parallelism);
    if (target >= parallelism) {
      status = user_error("a record is for subtask " + std::to_string(target) + " of " +
                          std::to_string(parallelism));
    }
    return target;
  }
};

/// Loses or doubles some records on purpose.
class FaultyWriter final : public RecordWriter {
 public:
  FaultyWriter(std::unique_ptr<RecordWriter> writer, RecordFaults& faults)
      : writer_(std::move(writer)), faults_(faults) {}

  void receive(const void* record, EpochMillis timestamp) override {
    guarded([&] {
      const RecordFaults::Action action = faults_.next();
      if (action == RecordFaults::Action::kLose) return;
      writer_->receive(record, timestamp);
      if (action == RecordFaults::Action::kDouble) writer_->receive(record, timestamp);
      status_ = writer_->status();
    });
  }

 private:
  const std::unique_ptr<RecordWriter> writer_;
  RecordFaults& faults_;
};

/// Sends each record by itself.
class FlushingWriter final : public RecordWriter {
 public:
  FlushingWriter(std::unique_ptr<RecordWriter> writer, ResultPartition& partition)
      : writer_(std::move(writer)), partition_(partition) {}

  void receive(const void* record, EpochMillis timestamp) override {
    guarded([&] {
      writer_->receive(record, timestamp);
      status_ = writer_->status();
      if (status_.ok()) partition_.flush();
    });
  }

 private:
  const std::unique_ptr<RecordWriter> writer_;
  ResultPartition& partition_;
};

std::unique_ptr<RecordWriter> make_spreading(const RecordWriter::Options& options,
                                             const EdgeType& type, ResultPartition& partition,
                                             Decisions& decisions) {
  switch (options.partitioning) {
    case Partitioning::kHash:
      return std::make_unique<KeyedWriter>(
          type, partition,
          KeyedConsumers{options.consumer_parallelism, options.consumer_max_parallelism});
    case Partitioning::kRebalance: {
      const uint32_t start =
          options.subpartitions == 1 ? 0 : decisions.random_below(options.subpartitions);
      return make_choosing(type, partition, RoundRobin{options.subpartitions, start});
    }
    case Partitioning::kRescale:
      return make_choosing(type, partition, RoundRobin{options.subpartitions, 0});
    case Partitioning::kBroadcast:
      partition.write_to_all();
      break;
    case Partitioning::kShuffle:
      return make_choosing(type, partition, AtRandom{&decisions, options.subpartitions});
    case Partitioning::kDirect:
    case Partitioning::kCustom:
      return make_choosing(type, partition, ByTarget{&type, options.consumer_parallelism});
    case Partitioning::kForward:
    case Partitioning::kGlobal:
      break;
  }
  return make_choosing(type, partition, TheOnlyOne());
}

}  // namespace

void RecordWriter::note_exception() {
  std::string what = "not a std::exception";
  try {
    throw;
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {
  }
  status_ = user_error("a record cannot be written: " + what);
}

std::unique_ptr<RecordWriter> RecordWriter::make(const Options& options, const EdgeType& type,
                                                 ResultPartition& partition, Decisions& decisions) {
  auto writer = make_spreading(options, type, partition, decisions);
  if (options.faults != nullptr)
    writer = std::make_unique<FaultyWriter>(std::move(writer), *options.faults);
  if (!options.flush_each) return writer;
  return std::make_unique<FlushingWriter>(std::move(writer), partition);
}

}  // namespace freshet
