#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/random.h"
#include "runtime/operators/operator.h"
#include "runtime/operators/source.h"

namespace freshet {

/// What a connector sees of its task, under the test's control.
class FakeContext final : public OperatorContext {
 public:
  explicit FakeContext(FileSystem& files, uint32_t subtask = 0, AttemptNumber attempt = 0,
                       JobId job = {})
      : files_(files) {
    attempt_.job = job;
    attempt_.subtask.index = subtask;
    attempt_.attempt = attempt;
  }

  uint32_t subtask() const override { return attempt_.subtask.index; }
  uint32_t parallelism() const override { return subtasks; }
  uint32_t max_parallelism() const override { return 128; }
  const AttemptId& attempt() const override { return attempt_; }
  OperatorId operator_id() const override { return OperatorId{1}; }
  const std::string& operator_name() const override { return name_; }
  EpochMillis processing_time() const override { return now; }
  uint64_t random() override { return 4; }
  std::string external(const std::string& /*what*/,
                       const std::function<std::string()>& ask) override {
    if (recorded.empty()) recorded.push_back(ask());
    return recorded.front();
  }
  void wake_at(EpochMillis time) override { wake_time = time; }
  FileSystem& files() override { return files_; }
  std::string setting(const std::string& name) const override {
    const auto it = settings.find(name);
    return it == settings.end() ? "" : it->second;
  }

  uint32_t subtasks = 1;
  EpochMillis now = 0;
  std::optional<EpochMillis> wake_time;
  std::map<std::string, std::string> settings;
  std::vector<std::string> recorded;  // Answers from outside; filled: an execution that replays.

 private:
  FileSystem& files_;
  AttemptId attempt_;
  std::string name_ = "under test";
};

template <class T>
class Received final : public RecordReceiver {
 public:
  void receive(const void* record, EpochMillis timestamp) override {
    values.push_back(*static_cast<const T*>(record));
    timestamps.push_back(timestamp);
  }
  std::vector<T> values;
  std::vector<EpochMillis> timestamps;
};

/// Runs a source's enumerator and its readers in one thread, in an order that `random` decides.
template <class T>
class SourceRun {
 public:
  SourceRun(const Source<T>& source, FakeContext& context, uint32_t readers, Random& random)
      : random_(random), context_(context) {
    enumerator_.op = make(*source.enumerator);
    enumerator_.op->open(context, {&splits_});
    for (uint32_t i = 0; i < readers; i++) {
      auto reader = std::make_unique<Reader>(context.files(), i);
      reader->op = make(*source.reader);
      reader->op->open(reader->context, {&reader->records, &reader->requests});
      readers_.push_back(std::move(reader));
    }
  }

  ~SourceRun() {
    enumerator_.op->close();
    for (auto& reader : readers_) reader->op->close();
  }

  /// False when a million steps were not enough.
  bool run(uint32_t records_per_poll_max) {
    for (int step = 0; step < 1'000'000; step++) {
      if (random_.one_in(3)) {
        step_enumerator();
      } else {
        step_reader(static_cast<uint32_t>(random_.below(readers_.size())), records_per_poll_max);
      }
      bool done = enumerator_.ended;
      for (const auto& reader : readers_) done = done && reader->ended;
      if (done) return true;
    }
    return false;
  }

  std::vector<T> values_of(size_t reader) const { return readers_[reader]->records.values; }
  std::vector<T> values() const {
    std::vector<T> all;
    for (const auto& reader : readers_) {
      all.insert(all.end(), reader->records.values.begin(), reader->records.values.end());
    }
    return all;
  }
  uint64_t source_records() const {
    uint64_t count = 0;
    for (const auto& reader : readers_) count += reader->op->source_records();
    return count;
  }
  size_t splits() const { return splits_.values.size(); }

 private:
  struct Enumerator {
    std::unique_ptr<SourceOperator> op;
    bool ended = false;
  };
  struct Reader {
    Reader(FileSystem& files, uint32_t index) : context(files, index) {}
    FakeContext context;
    Received<T> records;
    Received<SplitRequest> requests;
    std::unique_ptr<SourceOperator> op;
    size_t requests_sent = 0;
    std::deque<Split> inbox;
    bool input_ended = false;
    bool ended = false;
  };

  static std::unique_ptr<SourceOperator> make(const OperatorFactory& factory) {
    return std::unique_ptr<SourceOperator>(dynamic_cast<SourceOperator*>(factory.make().release()));
  }

  void step_enumerator() {
    for (auto& reader : readers_) {
      if (reader->requests_sent == reader->requests.values.size()) continue;
      const SplitRequest request = reader->requests.values[reader->requests_sent++];
      enumerator_.op->process(0, &request, kNoTimestamp);
    }
    for (; delivered_ < splits_.values.size(); delivered_++) {
      const Split& split = splits_.values[delivered_];
      readers_.at(split.reader)->inbox.push_back(split);
    }
    if (enumerator_.op->poll(1) == PollResult::kEnded) enumerator_.ended = true;
  }

  void step_reader(uint32_t index, uint32_t records_per_poll_max) {
    Reader& reader = *readers_[index];
    if (reader.ended) return;
    if (reader.op->wants_input() && random_.one_in(2)) {
      if (!reader.inbox.empty()) {
        reader.op->process(0, &reader.inbox.front(), kNoTimestamp);
        reader.inbox.pop_front();
      } else if (enumerator_.ended && delivered_ == splits_.values.size() && !reader.input_ended) {
        reader.op->end_input(0);
        reader.input_ended = true;
      }
    }
    const auto most = static_cast<uint32_t>(1 + random_.below(records_per_poll_max));
    const size_t before = reader.records.values.size();
    reader.ended = reader.op->poll(most) == PollResult::kEnded;
    if (reader.records.values.size() - before > most) too_many_ = true;
  }

 public:
  bool emitted_too_many() const { return too_many_; }

 private:
  Random& random_;
  FakeContext& context_;
  Enumerator enumerator_;
  Received<Split> splits_;
  size_t delivered_ = 0;
  std::vector<std::unique_ptr<Reader>> readers_;
  bool too_many_ = false;
};

}  // namespace freshet
