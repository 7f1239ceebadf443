#include "runtime/cli/progress_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace freshet::cli {
namespace {

/// What people see: lines of letters, wrapped at the width; \r and "clear to the end of the line"
/// as terminals do it. Width 0: a file, which keeps every byte.
class FakeScreen final : public ProgressScreen {
 public:
  explicit FakeScreen(size_t width) : width_(width) {}

  void write(std::string_view text) override {
    while (!text.empty()) {
      if (text.starts_with("\033[K")) {
        rows_.back().resize(at_);
        text.remove_prefix(3);
        continue;
      }
      size_t end = 1;
      while (end < text.size() && (text[end] & 0xC0) == 0x80) end++;
      put(std::string(text.substr(0, end)));
      text.remove_prefix(end);
    }
  }

  size_t columns() const override { return width_; }

  void resize(size_t width) { width_ = width; }

  /// Without the last one while that is empty.
  std::vector<std::string> rows() const {
    std::vector<std::string> rows;
    for (const auto& row : rows_) {
      rows.emplace_back();
      for (const std::string& letter : row) rows.back() += letter;
    }
    if (rows.back().empty()) rows.pop_back();
    return rows;
  }

 private:
  void put(const std::string& letter) {
    if (letter == "\n") {
      start_row();
    } else if (letter == "\r" && width_ > 0) {
      at_ = 0;
    } else {
      if (width_ > 0 && at_ == width_) start_row();
      rows_.back().resize(std::max(rows_.back().size(), at_ + 1), " ");
      rows_.back()[at_++] = letter;
    }
  }

  void start_row() {
    rows_.emplace_back();
    at_ = 0;
  }

  size_t width_;
  std::vector<std::vector<std::string>> rows_ = {{}};  // Letters of UTF-8.
  size_t at_ = 0;
};

using Rows = std::vector<std::string>;

class ProgressViewTest : public ::testing::Test {
 protected:
  ProgressViewTest() {
    job_.name = "wordcount";
    job_.state = JobState::kRunning;
    job_.tasks = 9;
    job_.tasks_running = 8;
    job_.tasks_finished = 1;
  }

  JobReport read(uint64_t records) {
    job_.source_records = records;
    return job_;
  }

  static TimePoint at(Duration since) { return TimePoint{} + since; }

  JobReport job_;
};

TEST_F(ProgressViewTest, PaintsOneLineOverOnAWideTerminal) {
  FakeScreen screen(100);
  ProgressView view(screen, at(0s));
  view.update(at(500ms), read(1000));
  EXPECT_EQ(screen.rows(), Rows{"wordcount RUNNING  1,000 records read  2,000 records/s  9/9 tasks"
                                "  500 ms"});
  view.update(at(2s), read(1'234'567));
  EXPECT_EQ(screen.rows(), Rows{"wordcount RUNNING  1,234,567 records read  617,283 records/s  "
                                "9/9 tasks  2.00 s"});
  view.update(at(3s), read(1'234'568));
  EXPECT_EQ(screen.rows(), Rows{"wordcount RUNNING  1,234,568 records read  1 records/s  9/9 tasks "
                                " 3.00 s"});
}

TEST_F(ProgressViewTest, LeavesOutWhatANarrowTerminalHasNoRoomFor) {
  for (size_t width = 1; width <= 100; width++) {
    FakeScreen screen(width);
    ProgressView view(screen, at(0s));
    for (int i = 1; i <= 3; i++) view.update(at(i * 1s), read(1'000'000 * i));
    EXPECT_LE(screen.rows().size(), 1u) << width;  // It never wraps.
  }
  FakeScreen screen(45);
  ProgressView view(screen, at(0s));
  view.update(at(1s), read(1000));
  EXPECT_EQ(screen.rows(), Rows{"wordcount RUNNING  1,000 records read"});
  screen.resize(60);
  view.update(at(2s), read(2000));
  EXPECT_EQ(screen.rows(), Rows{"wordcount RUNNING  2,000 records read  1,000 records/s"});
}

TEST_F(ProgressViewTest, CutsALongNameAndNotTheStateNorHalfALetter) {
  job_.name = "h\u00e9\u00e9\u00e9\u00e9\u00e9 a very long name";
  FakeScreen screen(12);
  ProgressView view(screen, at(0s));
  view.update(at(1s), read(1));
  EXPECT_EQ(screen.rows(), Rows{"h\u00e9\u00e9 RUNNING"});
}

TEST_F(ProgressViewTest, PutsNotesAboveTheLineAndClearsItAtTheEnd) {
  FakeScreen screen(100);
  ProgressView view(screen, at(0s));
  view.update(at(1s), read(1000));
  view.note("Cancelling.\x1b[K");
  view.update(at(2s), read(1000));
  ASSERT_EQ(screen.rows().size(), 2u);
  EXPECT_EQ(screen.rows()[0], "Cancelling.\\x1b[K");
  job_.state = JobState::kFinished;
  job_.restarts = 1;
  view.finish(at(2s), read(2000));
  EXPECT_EQ(screen.rows(), (Rows{"Cancelling.\\x1b[K",
                                 "Job wordcount FINISHED after 2.00 s, 2,000 records read "
                                 "(1,000 records/s), 1 restart"}));
}

TEST_F(ProgressViewTest, WritesALinePerChangeWhereThereIsNoTerminal) {
  FakeScreen screen(0);
  ProgressView view(screen, at(0s));
  job_.state = JobState::kCreated;
  job_.waiting_for = "2 slots";
  for (int i = 0; i < 3; i++) view.update(at(1s), job_);
  job_.waiting_for.clear();
  job_.state = JobState::kRunning;
  for (int i = 0; i < 3; i++) view.update(at(2s), read(1000));
  job_.state = JobState::kRestarting;
  job_.restarts = 1;
  job_.cause = unavailable("taskmanager-1 was lost");
  for (int i = 0; i < 3; i++) view.update(at(3s), job_);
  job_.state = JobState::kFinished;
  view.finish(at(4s), read(2000));
  EXPECT_EQ(screen.rows(), (Rows{"CREATED: waits for 2 slots", "RUNNING",
                                 "RESTARTING (restart 1): taskmanager-1 was lost",
                                 "Job wordcount FINISHED after 4.00 s, 2,000 records read "
                                 "(500 records/s), 1 restart"}));
}

TEST_F(ProgressViewTest, ShowsTheRateOfANewExecutionOnly) {
  FakeScreen screen(100);
  ProgressView view(screen, at(0s));
  view.update(at(2s), read(1000));
  view.update(at(3s), read(100));  // Restarted: it reads from the beginning.
  view.update(at(4s), read(300));
  EXPECT_NE(screen.rows()[0].find("  200 records/s"), std::string::npos) << screen.rows()[0];
}

}  // namespace
}  // namespace freshet::cli
