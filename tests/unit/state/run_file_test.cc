#include "state/run_file.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "state/memory_spill_space.h"

namespace freshet {
namespace {

/// Gives bytes in pieces, with the one at `damaged` changed, or nothing behind it.
class DamagedBytes final : public SpilledBytes {
 public:
  DamagedBytes(std::string bytes, size_t damaged, bool cut)
      : bytes_(std::move(bytes)), damaged_(damaged), cut_(cut) {}
  std::string name() const override { return "/damaged"; }
  Status append(std::string /*bytes*/) override { return Status(); }
  void end() override {}
  Result<std::string> next() override {
    std::string piece = bytes_.substr(at_, 50);
    if (damaged_ - at_ < piece.size()) {
      if (cut_) {
        piece.resize(damaged_ - at_);
      } else {
        piece[damaged_ - at_] = static_cast<char>(piece[damaged_ - at_] ^ 1);
      }
    }
    at_ += cut_ && damaged_ < at_ + 50 ? bytes_.size() - at_ : piece.size();
    return piece;
  }

 private:
  const std::string bytes_;
  const size_t damaged_;
  const bool cut_;
  size_t at_ = 0;
};

Result<SortedRun> write_run(MemorySpillSpace& space) {
  RunWriter writer(space);
  for (int i = 0; i < 40; i++)
    RETURN_IF_ERROR(writer.add("key" + std::to_string(i), std::string(i, 'v')));
  return writer.finish();
}

Status read_all(SortedRun run) {
  RunReader reader(std::move(run));
  int entries = 0;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, reader.next());
    if (!more) break;
    if (reader.key() != "key" + std::to_string(entries) ||
        reader.value() != std::string(entries, 'v'))
      return internal_error("another entry");
    entries++;
  }
  return entries == 40 ? Status() : internal_error("other entries");
}

class RunFileTest : public ::testing::TestWithParam<bool> {};

TEST_P(RunFileTest, GivesWhatWasWritten) {
  MemorySpillSpace space(SpillSpace::kLeastMemoryBytes, GetParam());
  auto run = write_run(space);
  ASSERT_TRUE(run.ok());
  EXPECT_TRUE(read_all(std::move(run).value()).ok());
}

TEST_P(RunFileTest, EveryDamageIsSeen) {
  MemorySpillSpace space(SpillSpace::kLeastMemoryBytes, GetParam());
  auto run = write_run(space);
  ASSERT_TRUE(run.ok());
  std::string bytes;
  while (true) {
    const std::string more = *run->bytes->next();
    if (more.empty()) break;
    bytes += more;
  }
  for (const bool cut : {false, true}) {
    for (size_t i = 0; i < bytes.size(); i++) {
      const Status status = read_all(
          SortedRun{std::make_unique<DamagedBytes>(bytes, i, cut), run->entries, run->size_bytes});
      EXPECT_TRUE(status.message().starts_with("/damaged: ")) << status.message();
      EXPECT_EQ(status.code(), StatusCode::kDataLoss)
          << i << (cut ? " cut: " : ": ") << status.message();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Codecs, RunFileTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Lz4" : "Plain"; });

}  // namespace
}  // namespace freshet
