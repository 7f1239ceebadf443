#include <cstring>
#include <functional>

#include "runtime/base/check.h"
#include "runtime/base/configuration.h"
#include "runtime/base/manual_executor.h"
#include "runtime/base/memory_file_system.h"
#include "runtime/connectors/collect_sink.h"
#include "runtime/connectors/elements.h"
#include "runtime/connectors/file_sink.h"
#include "runtime/connectors/line_reader.h"
#include "runtime/connectors/split_source.h"
#include "runtime/connectors/text_files.h"
#include "runtime/task/decision_log.h"
#include "runtime/testing/operator_harness.h"
#include "shuffle/spill_file.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/targets.h"
#include "tests/unit/connectors/connector_harness.h"

namespace freshet::fuzz {

namespace {

constexpr uint64_t kDecisionsMax = 1000;

void check_decisions(std::string_view bytes) {
  DecisionLogReader reader(bytes);
  MemoryDecisionLog log;
  std::vector<Decision> decisions;
  while (reader.peek() && decisions.size() < kDecisionsMax) {
    CHECK(to_string(reader.peek()->kind) != "unknown");
    decisions.push_back(*reader.peek());
    log.append(decisions.back());
    reader.pop();
  }
  CHECK(reader.status().ok() || reader.status().code() == StatusCode::kDataLoss);
  DecisionLogReader again(log.bytes());
  for (const Decision& decision : decisions) {
    CHECK(again.peek() && *again.peek() == decision);
    again.pop();
  }
  CHECK(!again.peek() && again.status().ok());
}

/// Files whose bytes are read wrong, or not all of them.
class DamagedFiles final : public FileSystem {
 public:
  using Damage = std::function<size_t(uint64_t offset, char* bytes, size_t size)>;
  explicit DamagedFiles(Damage damage) : damage_(std::move(damage)) {}

  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
    ASSIGN_OR_RETURN(auto file, files_.open(path));
    return std::unique_ptr<ReadableFile>(std::make_unique<Reader>(std::move(file), damage_));
  }
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override {
    return files_.create(path);
  }
  Result<FileInfo> info(const std::string& path) override { return files_.info(path); }
  Result<std::vector<FileInfo>> list(const std::string& path) override { return files_.list(path); }
  Status create_directories(const std::string& path) override {
    return files_.create_directories(path);
  }
  Status create_new_directory(const std::string& path) override {
    return files_.create_new_directory(path);
  }
  Status rename(const std::string& from, const std::string& to) override {
    return files_.rename(from, to);
  }
  Status remove(const std::string& path) override { return files_.remove(path); }
  Status remove_all(const std::string& path) override { return files_.remove_all(path); }
  Status remove_empty_directory(const std::string& path) override {
    return files_.remove_empty_directory(path);
  }

 private:
  class Reader final : public ReadableFile {
   public:
    Reader(std::unique_ptr<ReadableFile> file, Damage& damage)
        : file_(std::move(file)), damage_(damage) {}
    Result<size_t> read(uint64_t offset, char* to, size_t size) override {
      ASSIGN_OR_RETURN(const size_t got, file_->read(offset, to, size));
      return damage_(offset, to, got);
    }

   private:
    std::unique_ptr<ReadableFile> file_;
    Damage& damage_;
  };

  Damage damage_;
  MemoryFileSystem files_;
};

/// A buffer of bytes that say which it is.
Buffer buffer_of(uint32_t index, uint32_t size) {
  const BlockRef block = Block::on_heap(size, nullptr, 0);
  std::memset(block->data(), static_cast<int>(index), size);
  Buffer buffer(block, size);
  buffer.first_element = index;
  return buffer;
}

/// input := buffers, then (offset, change)*. What comes back is what was put in, or it is
/// kDataLoss.
void check_spill(Input input) {
  const uint32_t buffers = 1 + input.byte() % 8;
  const uint32_t size = 1 + input.number<uint16_t>() % 20'000;
  std::vector<std::pair<uint32_t, uint8_t>> changes;
  while (!input.empty() && changes.size() < 64) {
    const auto offset = input.number<uint32_t>() % (buffers * (size + 48));
    changes.emplace_back(offset, input.byte());
  }
  DamagedFiles files([&](uint64_t offset, char* bytes, size_t got) {
    size_t left = got;
    for (const auto& [at, change] : changes) {
      if (at < offset || at >= offset + got) continue;
      bytes[at - offset] = static_cast<char>(bytes[at - offset] ^ change);
      if (change == 0) left = std::min<size_t>(left, at - offset);  // The file ends here.
    }
    return left;
  });
  ManualClock clock;
  ManualExecutor disk(clock);
  SpillFile spill({SpillPlace{&files, "/spill", &disk, {}}, "a.spill", [] {}});
  for (uint32_t i = 0; i < buffers; ++i) CHECK(spill.append(i, buffer_of(i, size)).ok());
  disk.run_ready();
  for (uint32_t i = 0; i < buffers;) {
    const auto taken = spill.take();
    if (!taken.ok()) {
      CHECK(taken.status().code() == StatusCode::kDataLoss && !changes.empty());
      break;
    }
    if (*taken) {
      const Buffer expected = buffer_of(i, size);
      CHECK((*taken)->subpartition == i && (*taken)->bytes == expected.bytes());
      CHECK((*taken)->buffer.first_element == i++);
    } else {
      CHECK(disk.run_ready() > 0);
    }
  }
  disk.run_ready();
}

/// What a sink left to be published came back over the network.
void check_committable(const std::string& payload) {
  MemoryFileSystem files;
  files.put("/out/.attempt-0/00000000000000010000000000000002/part-0", "text");
  const auto committer = file_sink<std::string>("/out").writer->make_committer();
  const Status first = committer->commit(payload, files);
  CHECK(first.ok() || !first.message().empty());
  const auto published = files.files();
  CHECK(committer->commit(payload, files).ok() == first.ok() && files.files() == published);
  auto results = std::make_shared<CollectedResults<int>>();
  results->prepare(1, 0, {7});
  const Status collected =
      collect_sink<int>(results).writer->make_committer()->commit(payload, files);
  CHECK(collected.ok() == !results->values().empty());
}

/// The splits that an enumerator elsewhere gave.
void check_split(const std::string& payload) {
  try {
    const NumberRange range = decode_range(payload);
    CHECK(range.first <= range.last && encode_range(range).size() <= payload.size());
    const NumberRange again = decode_range(encode_range(range));
    CHECK(again.first == range.first && again.last == range.last);
  } catch (const CodecError&) {
  }
  try {
    const TextRange range = decode_text_range(payload);
    CHECK(range.begin <= range.end && range.end <= range.size);
    CHECK(encode_text_range(decode_text_range(encode_text_range(range))) ==
          encode_text_range(range));
  } catch (const CodecError&) {
  }
}

/// What a source saw when its attempt ran first, from the log of its decisions.
void check_found_files(const std::string& answer) {
  MemoryFileSystem files;
  FakeContext context(files);
  context.recorded = {answer};
  context.settings[std::string(config::kSplitBytes.name)] = "1 kb";
  const auto enumerator = text_files({"/in"}).enumerator->make();
  Received<Split> splits;
  try {
    enumerator->open(context, {&splits});
    const SplitRequest request;
    enumerator->process(0, &request, kNoTimestamp);
  } catch (const CodecError&) {
  }
  for (const Split& split : splits.values) (void)decode_text_range(split.payload);
  enumerator->close();
}

/// Any division of a file gives each of its lines once. input := two cuts, file.
void check_lines(Input input) {
  const uint16_t a = input.number<uint16_t>(), b = input.number<uint16_t>();
  const std::string text(input.rest());
  MemoryFileSystem files;
  files.put("/in", text);
  const uint64_t size = text.size();
  const uint64_t first = std::min<uint64_t>(std::min(a, b), size);
  const uint64_t second = std::min<uint64_t>(std::max(a, b), size);
  const auto read = [&](uint64_t begin, uint64_t end, std::string* to) {
    LineReader reader(files);
    CHECK(reader.open({"/in", begin, end, size}).ok());
    testing::CollectedOutput<std::string> lines;
    uint64_t count = 0;
    while (*reader.read(3, lines, &count)) {
    }
    CHECK(count == lines.entries.size());
    for (const auto& line : lines.entries) *to += line.record + "\n";
  };
  std::string whole, parts;
  read(0, size, &whole);
  read(0, first, &parts);
  read(first, second, &parts);
  read(second, size, &parts);
  CHECK(whole == parts);
}

}  // namespace

/// input := a letter for what is read, the bytes.
void files(std::string_view bytes) {
  Input input(bytes);
  switch (input.byte()) {
    case 'd':
      return check_decisions(input.rest());
    case 's':
      return check_spill(input);
    case 'c':
      return check_committable(std::string(input.rest()));
    case 'f':
      return check_found_files(std::string(input.rest()));
    case 'r':
      return check_split(std::string(input.rest()));
    default:
      return check_lines(input);
  }
}

Seeds files_seeds() {
  MemoryDecisionLog log;
  for (const DecisionKind kind :
       {DecisionKind::kElement, DecisionKind::kElement, DecisionKind::kPoll,
        DecisionKind::kEndInput, DecisionKind::kFinish, DecisionKind::kClock,
        DecisionKind::kRandom})
    log.append({kind, 0, 0, kind == DecisionKind::kPoll ? 5u : 0u, {}});
  log.append({DecisionKind::kExternal, 0, 0, 0, "answer"});
  Encoder file, collected;
  file.write_string("/out");
  for (const uint64_t number : {1, 2, 0, 0, 1}) file.write_varint(number);
  collected.write_varint(1);
  collected.write_varint(0);
  Encoder found;
  found.write_varint(1);
  found.write_string("/in/a");
  found.write_varint(3000);
  return {"d" + log.bytes(),
          "f" + std::string(found.bytes()),
          "c" + std::string(file.bytes()),
          "c" + std::string(collected.bytes()),
          "r" + encode_range({5, 700}),
          "r" + encode_text_range({"/in", 5, 7, 9}),
          std::string("s\3\x10\x27", 4),
          std::string("s\3\x10\x27\x00\x20\x00\x00\x01", 9),
          std::string("s\1\xff\x3f\x00\x20\x00\x00\x00", 9),
          std::string("l\2\0\5\0", 5) + "a\nbc\r\n\nlast"};
}

}  // namespace freshet::fuzz
