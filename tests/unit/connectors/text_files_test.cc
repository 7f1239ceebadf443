#include "runtime/connectors/text_files.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/base/memory_file_system.h"
#include "runtime/connectors/connector_error.h"
#include "runtime/connectors/line_reader.h"
#include "tests/unit/connectors/connector_harness.h"

namespace freshet {
namespace {

/// The lines of a file, the slow and obvious way.
std::vector<std::string> model_lines(const std::string& content) {
  std::vector<std::string> lines;
  std::string line;
  for (const char c : content) {
    if (c != '\n') {
      line.push_back(c);
      continue;
    }
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(line);
    line.clear();
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

std::string random_text(Random& random) {
  std::string text;
  const uint64_t lines = random.below(30);
  for (uint64_t i = 0; i < lines; i++) {
    const uint64_t length = random.one_in(10) ? random.below(400) : random.below(12);
    for (uint64_t j = 0; j < length; j++) text.push_back("abc \r"[random.below(5)]);
    if (i + 1 == lines && random.one_in(2)) break;
    text += random.one_in(3) ? "\r\n" : "\n";
  }
  return text;
}

std::vector<std::string> sorted(std::vector<std::string> lines) {
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST(TextFilesTest, GivesEveryLineExactlyOnceHoweverFilesAreCut) {
  for (uint64_t seed = 0; seed < 300; seed++) {
    const auto random = make_seeded_random(seed);
    MemoryFileSystem files;
    std::vector<std::string> wanted;
    const uint64_t count = 1 + random->below(4);
    for (uint64_t i = 0; i < count; i++) {
      const std::string content = random_text(*random);
      files.put("/in/file-" + std::to_string(i), content);
      for (auto& line : model_lines(content)) wanted.push_back(std::move(line));
    }
    FakeContext context(files);
    context.settings["source.file.split-size"] = std::to_string(1 + random->below(300));
    SourceRun<std::string> run(text_files({"/in"}), context,
                               static_cast<uint32_t>(1 + random->below(5)), *random);
    ASSERT_TRUE(run.run(static_cast<uint32_t>(1 + random->below(20)))) << "seed " << seed;
    EXPECT_EQ(sorted(run.values()), sorted(wanted)) << "seed " << seed;
    EXPECT_EQ(run.source_records(), wanted.size()) << "seed " << seed;
    EXPECT_FALSE(run.emitted_too_many()) << "seed " << seed;
    ASSERT_FALSE(HasFailure());
  }
}

TEST(TextFilesTest, ReadsLinesThatAreLongerThanChunksAndSplits) {
  MemoryFileSystem files;
  std::string content = "first\n";
  content += std::string(LineReader::kChunkBytes * 3 + 17, 'x') + "\r\n";
  content += std::string(LineReader::kChunkBytes - 1, 'y') + "\n\nlast";
  files.put("/in", content);
  for (const char* split : {"1 kb", "300 kb", "1 gb"}) {
    FakeContext context(files);
    context.settings["source.file.split-size"] = split;
    const auto random = make_seeded_random(5);
    SourceRun<std::string> run(text_files({"/in"}), context, 3, *random);
    ASSERT_TRUE(run.run(100));
    EXPECT_TRUE(sorted(run.values()) == sorted(model_lines(content))) << split;
  }
}

TEST(TextFilesTest, KeepsTheOrderOfAFileWithOneReader) {
  MemoryFileSystem files;
  std::string content;
  for (int i = 0; i < 1000; i++) content += std::to_string(i) + "\n";
  files.put("/in", content);
  FakeContext context(files);
  context.settings["source.file.split-size"] = "100";
  const auto random = make_seeded_random(1);
  SourceRun<std::string> run(text_files({"/in"}), context, 1, *random);
  ASSERT_TRUE(run.run(7));
  EXPECT_EQ(run.values(), model_lines(content));
  EXPECT_GT(run.splits(), 30u);
}

TEST(TextFilesTest, CutsLargeFilesOnlyAtTheConfiguredSize) {
  MemoryFileSystem files;
  files.put("/in/a", std::string(25, '\n'));
  files.put("/in/b", std::string(10, '\n'));
  files.put("/in/empty", "");
  FakeContext context(files);
  context.settings["source.file.split-size"] = "10";
  const auto random = make_seeded_random(1);
  SourceRun<std::string> run(text_files({"/in"}), context, 2, *random);
  ASSERT_TRUE(run.run(100));
  EXPECT_EQ(run.splits(), 4u);
  EXPECT_EQ(run.values().size(), 35u);
}

TEST(TextFilesTest, RefusesASplitSizeThatIsNone) {
  MemoryFileSystem files;
  files.put("/in", "x");
  FakeContext context(files);
  context.settings["source.file.split-size"] = "many";
  const auto random = make_seeded_random(1);
  try {
    SourceRun<std::string> run(text_files({"/in"}), context, 1, *random);
    FAIL() << "was not refused";
  } catch (const ConnectorError& error) {
    EXPECT_NE(std::string(error.what()).find("source.file.split-size"), std::string::npos);
  }
}

TEST(TextFilesTest, ReplaysTheRecordedListOfFiles) {
  MemoryFileSystem files;
  files.put("/in/a", "a\n");
  const auto random = make_seeded_random(1);
  FakeContext first(files);
  { SourceRun<std::string> run(text_files({"/in"}), first, 1, *random); }
  files.put("/in/b", "b\n");
  files.put("/in/a", "a\nappended\n");
  FakeContext second(files);
  second.recorded = first.recorded;
  SourceRun<std::string> run(text_files({"/in"}), second, 1, *random);
  ASSERT_TRUE(run.run(10));
  EXPECT_EQ(run.values(), std::vector<std::string>{"a"});
}

std::string failure_after(const std::function<void(MemoryFileSystem&)>& change) {
  MemoryFileSystem files;
  files.put("/in/a", "one\ntwo\n");
  const auto random = make_seeded_random(1);
  FakeContext context(files);
  SourceRun<std::string> run(text_files({"/in/a"}), context, 1, *random);
  change(files);
  try {
    run.run(10);
  } catch (const ConnectorError& error) {
    return error.what();
  }
  return "";
}

TEST(TextFilesTest, FailsWithThePathWhenAFileShrinksOrVanishes) {
  EXPECT_EQ(failure_after([](MemoryFileSystem&) {}), "");
  const std::string shrunk =
      failure_after([](MemoryFileSystem& files) { files.put("/in/a", "one\n"); });
  EXPECT_NE(shrunk.find("'/in/a' shrank from 8 to 4 bytes"), std::string::npos) << shrunk;
  const std::string gone =
      failure_after([](MemoryFileSystem& files) { (void)files.remove("/in/a"); });
  EXPECT_NE(gone.find("'/in/a' was found when the job started but cannot be opened"),
            std::string::npos)
      << gone;
}

TEST(TextFilesTest, RefusesAFileWithContentAndWithoutASize) {
  const auto files = make_local_file_system();
  const Status status = text_files({"/proc/self/status"}).enumerator->check(JobId(), *files);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("'/proc/self/status' has content but no size"), std::string::npos)
      << status.message();
  MemoryFileSystem memory;
  memory.put("/in/empty", "");
  EXPECT_TRUE(text_files({"/in/empty"}).enumerator->check(JobId(), memory).ok());
}

TEST(TextFilesTest, RefusesMissingInputBeforeTheJobStarts) {
  MemoryFileSystem files;
  files.put("/in/a", "one\n");
  EXPECT_TRUE(text_files({"/in/a"}).enumerator->check(JobId(), files).ok());
  for (const std::string missing : {"/in/none", "/in/*.txt", "/none/**"}) {
    const Status status = text_files({"/in/a", missing}).enumerator->check(JobId(), files);
    EXPECT_EQ(status.code(), StatusCode::kNotFound);
    EXPECT_NE(status.message().find("'" + missing + "'"), std::string::npos) << status.message();
  }
  EXPECT_EQ(text_files({}).enumerator->check(JobId(), files).code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace freshet
