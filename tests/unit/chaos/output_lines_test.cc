#include "runtime/chaos/output_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <set>

#include "runtime/base/memory_file_system.h"
#include "runtime/base/random.h"

namespace freshet::chaos {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> lines_of(const std::string& content) {
  MemoryFileSystem files;
  files.put("/f", content);
  std::vector<std::string> lines;
  EXPECT_TRUE(scan_lines("/f", files, [&](const OutputLine& line) {
                EXPECT_EQ(line.number, lines.size() + 1);
                EXPECT_EQ(line.size, line.head.size());
                lines.push_back(std::string(line.head) + (line.ended ? "" : "|"));
                return true;
              }).ok());
  return lines;
}

std::vector<OutputLine> scanned(const std::string& content) {
  MemoryFileSystem files;
  files.put("/f", content);
  std::vector<OutputLine> lines;
  EXPECT_TRUE(scan_lines("/f", files, [&](const OutputLine& line) {
                lines.push_back(line);
                return true;
              }).ok());
  return lines;
}

TEST(OutputLinesTest, GivesEachLineWithAnyBytes) {
  EXPECT_THAT(lines_of(""), IsEmpty());
  EXPECT_THAT(lines_of("\n"), ElementsAre(""));
  EXPECT_THAT(lines_of("a\n\nb\r\n"), ElementsAre("a", "", "b\r"));
  EXPECT_THAT(lines_of(std::string("a\0b\n\xff\n", 6)),
              ElementsAre(std::string("a\0b", 3), "\xff"));
  EXPECT_THAT(lines_of("a\nb"), ElementsAre("a", "b|"));
}

TEST(OutputLinesTest, LinesThatCrossBlocksAreWhole) {
  const auto random = make_seeded_random(1);
  std::vector<std::string> wanted;
  std::string content;
  for (int i = 0; i < 400; i++) {
    wanted.push_back(std::string(random->below(20'000), static_cast<char>('a' + i % 26)));
    content += wanted.back() + "\n";
  }
  EXPECT_EQ(lines_of(content), wanted);
}

TEST(OutputLinesTest, AHugeLineHasTheHashOfAllOfIt) {
  const std::string huge(5'000'000, 'x');
  std::string other = huge;
  other[4'500'000] = 'y';
  const auto lines = scanned(huge + "\n" + other + "\nshort\n" + huge + "\n" + huge + "x\n");
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[0].hash, lines[3].hash);
  EXPECT_NE(lines[0].hash, lines[1].hash);
  EXPECT_NE(lines[0].hash, lines[4].hash);
  EXPECT_EQ(lines[0].size, huge.size());
  EXPECT_EQ(lines[4].size, huge.size() + 1);
}

TEST(OutputLinesTest, ALineWithoutEndIsAnotherRecord) {
  EXPECT_NE(scanned("a\n").front().hash, scanned("a").front().hash);
  EXPECT_EQ(scanned("a").front().hash, scanned("b\na").back().hash);
}

TEST(OutputLinesTest, StopsWhenNoMoreIsWanted) {
  MemoryFileSystem files;
  files.put("/f", "a\nb\nc");
  int lines = 0;
  EXPECT_TRUE(scan_lines("/f", files, [&](const OutputLine&) { return ++lines < 2; }).ok());
  EXPECT_EQ(lines, 2);
}

TEST(OutputLinesTest, TheIdIsTheFirstColumn) {
  EXPECT_EQ(id_of("a b"), "a");
  EXPECT_EQ(id_of("a\tb c"), "a");
  EXPECT_EQ(id_of("(a,1)"), "(a");
  EXPECT_EQ(id_of("whole"), "whole");
  EXPECT_EQ(id_of(" a"), "");
}

TEST(OutputLinesTest, ListsFilesOfFoldersAndWhatIsHidden) {
  MemoryFileSystem files;
  for (const char* path : {"/out/part-1", "/out/part-0", "/out/day/part-0", "/out/day/.tmp",
                           "/out/.attempt-1/j/part-0"})
    files.put(path, "");
  const auto found = list_output("/out", files);
  ASSERT_TRUE(found.ok());
  EXPECT_THAT(found->names, ElementsAre("day/part-0", "part-0", "part-1"));
  EXPECT_THAT(found->leftovers, ElementsAre(".attempt-1", "day/.tmp"));
  EXPECT_THAT(list_output("/none", files).status().message(), HasSubstr("/none"));
}

TEST(OutputLinesTest, RefusesWhatIsNoFile) {
  const auto files = make_local_file_system();
  const std::string directory = ::testing::TempDir() + "output_lines_test";
  ASSERT_TRUE(files->remove_all(directory).ok());
  ASSERT_TRUE(files->create_directories(directory).ok());
  ASSERT_EQ(::mkfifo((directory + "/pipe").c_str(), 0600), 0);
  EXPECT_THAT(list_output(directory, *files).status().message(),
              HasSubstr("/pipe: it is a pipe, socket or device"));
  EXPECT_TRUE(files->remove_all(directory).ok());
}

TEST(OutputLinesTest, FindsLeftoversInAnOutputAndBesideIt) {
  MemoryFileSystem files;
  files.put("/data/out/part-0", "");
  files.put("/data/out/.attempt-2/j/part-1", "");
  files.put("/data/.out.parts-j/part-0", "");
  files.put("/data/.other.parts-j/part-0", "");
  files.put("/data/.output", "");
  auto found = find_leftovers("/data/out", files);
  ASSERT_TRUE(found.ok());
  EXPECT_THAT(*found, ElementsAre("/data/.out.parts-j", "/data/out/.attempt-2"));
  found = find_leftovers("/nowhere/out", files);
  ASSERT_TRUE(found.ok());
  EXPECT_THAT(*found, IsEmpty());
}

}  // namespace
}  // namespace freshet::chaos
