#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <thread>

#include "runtime/base/file_system.h"
#include "runtime/base/memory_file_system.h"

namespace freshet {
namespace {

struct Implementation {
  const char* name;
  std::function<std::unique_ptr<FileSystem>()> make;
};

class FileSystemContractTest : public ::testing::TestWithParam<Implementation> {
 protected:
  void SetUp() override {
    char path[] = "/tmp/freshet_fs_XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    root_ = path;
    files_ = GetParam().make();
    ASSERT_TRUE(files_->create_directories(root_).ok());
  }
  void TearDown() override {
    EXPECT_TRUE(files_->remove_all(root_).ok());
    EXPECT_TRUE(make_local_file_system()->remove_all(root_).ok());
  }
  void write(const std::string& name, const std::string& bytes) {
    auto file = files_->create(root_ + "/" + name);
    ASSERT_TRUE(file.ok()) << file.status().to_string();
    ASSERT_TRUE((*file)->append(bytes).ok());
    ASSERT_TRUE((*file)->sync().ok());
    ASSERT_TRUE((*file)->close().ok());
  }

  std::string root_;
  std::unique_ptr<FileSystem> files_;
};

TEST_P(FileSystemContractTest, ReadsBackWhatWasWrittenAtAnyOffset) {
  write("a", "hello world");
  auto file = files_->open(root_ + "/a");
  ASSERT_TRUE(file.ok());
  char buffer[32];
  EXPECT_EQ(*(*file)->read(6, buffer, 32), 5u);
  EXPECT_EQ(std::string(buffer, 5), "world");
  EXPECT_EQ(*(*file)->read(11, buffer, 32), 0u);
  EXPECT_EQ(*(*file)->read(1000, buffer, 32), 0u);
  EXPECT_EQ(*files_->read_all(root_ + "/a"), "hello world");
  EXPECT_EQ(files_->read_all(root_ + "/a", 5).status().code(), StatusCode::kResourceExhausted);
}

TEST_P(FileSystemContractTest, NamesThePathOfWhatIsMissing) {
  const std::string path = root_ + "/none";
  for (const Status& status :
       {files_->open(path).status(), files_->info(path).status(), files_->list(path).status(),
        files_->remove(path), files_->rename(path, root_ + "/x"),
        files_->create(path + "/x").status()}) {
    EXPECT_EQ(status.code(), StatusCode::kNotFound) << status.to_string();
    EXPECT_NE(status.message().find(path), std::string::npos) << status.to_string();
  }
  EXPECT_TRUE(files_->remove_all(path).ok());
}

/// Whoever tries again what may pass must not try this again.
TEST(LocalFileSystemTest, SaysThatAPathCannotBeMeantInsteadOfThatItIsUnavailable) {
  char root[] = "/tmp/freshet_fs_XXXXXX";
  ASSERT_NE(mkdtemp(root), nullptr);
  const std::string path = root;
  const auto files = make_local_file_system();
  const std::string long_name = path + "/" + std::string(300, 'x');
  EXPECT_EQ(files->open(long_name).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(files->create_new_directory(long_name).code(), StatusCode::kInvalidArgument);
  ASSERT_EQ(symlink((path + "/loop").c_str(), (path + "/loop").c_str()), 0);
  EXPECT_EQ(files->open(path + "/loop").status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(files->create(path).status().code(), StatusCode::kFailedPrecondition);
  ASSERT_TRUE(files->write_atomically(path + "/file", "").ok());
  EXPECT_EQ(files->info(path + "/file/inside").status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(files->remove_all(path).ok());
}

TEST_P(FileSystemContractTest, ListsDirectoriesSorted) {
  write("b", "22");
  write("a", "1");
  ASSERT_TRUE(files_->create_directories(root_ + "/c/d").ok());
  auto entries = files_->list(root_);
  ASSERT_TRUE(entries.ok());
  ASSERT_EQ(entries->size(), 3u);
  EXPECT_EQ((*entries)[0].path, root_ + "/a");
  EXPECT_EQ((*entries)[1].size_bytes, 2u);
  EXPECT_TRUE((*entries)[2].is_directory);
}

TEST_P(FileSystemContractTest, RenameReplacesAndIsSeenAtOnce) {
  write("old", "old");
  write("new", "new");
  ASSERT_TRUE(files_->rename(root_ + "/new", root_ + "/old").ok());
  EXPECT_EQ(*files_->read_all(root_ + "/old"), "new");
  EXPECT_FALSE(files_->info(root_ + "/new").ok());
}

TEST_P(FileSystemContractTest, RenamesTheSameWithoutSync) {
  write("a", "new");
  write("b", "old");
  ASSERT_TRUE(files_->rename_unsynced(root_ + "/a", root_ + "/b").ok());
  EXPECT_EQ(*files_->read_all(root_ + "/b"), "new");
  EXPECT_EQ(files_->rename_unsynced(root_ + "/a", root_ + "/c").code(), StatusCode::kNotFound);
}

TEST_P(FileSystemContractTest, RenamesADirectoryToANewOrEmptyOne) {
  ASSERT_TRUE(files_->create_directories(root_ + "/a/b").ok());
  write("a/one", "1");
  write("a/b/two", "2");
  write("a-longer", "not in it");
  ASSERT_TRUE(files_->create_directories(root_ + "/empty").ok());
  for (const auto& [from, to] : {std::pair("/a", "/new"), std::pair("/new", "/empty")}) {
    ASSERT_TRUE(files_->rename(root_ + from, root_ + to).ok());
    EXPECT_FALSE(files_->info(root_ + from).ok());
    EXPECT_EQ(*files_->read_all(root_ + to + "/one"), "1");
    EXPECT_EQ(*files_->read_all(root_ + to + "/b/two"), "2");
  }
  EXPECT_EQ(files_->list(root_)->size(), 2u);
}

TEST_P(FileSystemContractTest, RenamesNoDirectoryOverWhatIsThere) {
  ASSERT_TRUE(files_->create_directories(root_ + "/a").ok());
  ASSERT_TRUE(files_->create_directories(root_ + "/full").ok());
  write("a/one", "1");
  write("full/two", "2");
  EXPECT_EQ(files_->rename(root_ + "/a", root_ + "/full").code(), StatusCode::kFailedPrecondition);
  EXPECT_FALSE(files_->rename(root_ + "/a", root_ + "/full/two").ok());
  EXPECT_FALSE(files_->rename(root_ + "/a", root_ + "/a/inside").ok());
  EXPECT_FALSE(files_->rename(root_ + "/full/two", root_ + "/a").ok());
  EXPECT_EQ(files_->rename(root_ + "/a", root_ + "/none/b").code(), StatusCode::kNotFound);
  EXPECT_EQ(*files_->read_all(root_ + "/a/one"), "1");
  EXPECT_EQ(*files_->read_all(root_ + "/full/two"), "2");
}

TEST_P(FileSystemContractTest, RenamesIntoAnotherDirectory) {
  write("a", "1");
  ASSERT_TRUE(files_->create_directories(root_ + "/b/c").ok());
  ASSERT_TRUE(files_->rename(root_ + "/a", root_ + "/b/c/d").ok());
  EXPECT_EQ(*files_->read_all(root_ + "/b/c/d"), "1");
}

TEST_P(FileSystemContractTest, ClaimsANewDirectoryOnce) {
  EXPECT_TRUE(files_->create_new_directory(root_ + "/x/y").ok());
  EXPECT_EQ(files_->create_new_directory(root_ + "/x/y").code(), StatusCode::kAlreadyExists);
  EXPECT_TRUE(files_->create_directories(root_ + "/x/y").ok());
  EXPECT_TRUE(files_->remove_all(root_ + "/x").ok());
  EXPECT_FALSE(files_->info(root_ + "/x/y").ok());
}

TEST_P(FileSystemContractTest, WritesAtomically) {
  ASSERT_TRUE(files_->write_atomically(root_ + "/state", "one").ok());
  ASSERT_TRUE(files_->write_atomically(root_ + "/state", "two").ok());
  EXPECT_EQ(*files_->read_all(root_ + "/state"), "two");
  EXPECT_EQ(files_->list(root_)->size(), 1u);
}

std::atomic<int> interruptions{0};

/// The other end of a pipe takes nothing before the writer was interrupted often.
TEST(LocalFileSystemTest, WritesAllThoughItIsInterruptedAndWritesAreCut) {
  char directory[] = "/tmp/freshet_fs_XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  const std::string path = std::string(directory) + "/pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const auto files = make_local_file_system();
  sigset_t alarm;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &alarm, nullptr);  // For the thread that begins here.
  std::string taken;
  std::thread reader([&] {
    const int pipe = ::open(path.c_str(), O_RDONLY);
    char bytes[4096];
    while (interruptions < 20) std::this_thread::yield();
    for (ssize_t n = 1; n > 0; taken.append(bytes, static_cast<size_t>(std::max<ssize_t>(n, 0))))
      n = ::read(pipe, bytes, sizeof bytes);
    ::close(pipe);
  });
  pthread_sigmask(SIG_UNBLOCK, &alarm, nullptr);
  auto file = files->create(path);
  ASSERT_TRUE(file.ok()) << file.status().to_string();
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) { ++interruptions; };
  ASSERT_EQ(::sigaction(SIGALRM, &action, &before), 0);
  const itimerval each_millisecond{{0, 1000}, {0, 1000}};
  ASSERT_EQ(::setitimer(ITIMER_REAL, &each_millisecond, nullptr), 0);
  std::string bytes(1 << 20, 'x');
  for (size_t i = 0; i < bytes.size(); i += 1000) bytes[i] = static_cast<char>(i / 1000);
  EXPECT_TRUE((*file)->append(bytes).ok());
  const itimerval never{};
  ASSERT_EQ(::setitimer(ITIMER_REAL, &never, nullptr), 0);
  EXPECT_TRUE((*file)->close().ok());
  reader.join();
  ASSERT_EQ(::sigaction(SIGALRM, &before, nullptr), 0);
  EXPECT_TRUE(taken == bytes);
  EXPECT_TRUE(files->remove_all(directory).ok());
}

TEST(MemoryFileSystemTest, LeavesNothingOfAnAtomicWriteThatFailed) {
  MemoryFileSystem files;
  files.put("/state", "1");
  files.set_capacity(4);
  const Status status = files.write_atomically("/state", "too long");
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(files.files(), (std::map<std::string, std::string>{{"/state", "1"}}));
}

TEST(MemoryFileSystemTest, FailsWhenFull) {
  MemoryFileSystem files;
  files.set_capacity(10);
  auto file = files.create("/a");
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE((*file)->append("12345").ok());
  EXPECT_EQ((*file)->append("678901").code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(files.free_bytes(), 5u);
}

INSTANTIATE_TEST_SUITE_P(
    All, FileSystemContractTest,
    ::testing::Values(Implementation{"memory", [] { return std::make_unique<MemoryFileSystem>(); }},
                      Implementation{"local", [] { return make_local_file_system(); }}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace freshet
