#include "runtime/app/private_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/file_system.h"

namespace freshet {
namespace {

using ::testing::HasSubstr;

mode_t mode_of(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

class PrivateDirectoryTest : public ::testing::Test {
 protected:
  PrivateDirectoryTest() {
    char path[] = "/tmp/freshet-test-XXXXXX";
    EXPECT_NE(mkdtemp(path), nullptr);
    base_ = path;
  }
  ~PrivateDirectoryTest() override {
    EXPECT_TRUE(make_local_file_system()->remove_all(base_).ok());
  }

  std::string base_;
};

TEST_F(PrivateDirectoryTest, MakesItAndItsParentsForThisUserOnlyWhateverTheMask) {
  const mode_t mask = umask(0);
  const Status made = make_private_directory(base_ + "/a/b");
  umask(mask);
  EXPECT_TRUE(made.ok()) << made.message();
  EXPECT_EQ(mode_of(base_ + "/a"), 0700u);
  EXPECT_EQ(mode_of(base_ + "/a/b"), 0700u);
  EXPECT_TRUE(check_private_directory(base_ + "/a/b").ok());
}

TEST_F(PrivateDirectoryTest, MakesNoneWhereSomethingIsAlready) {
  ASSERT_EQ(symlink("/nowhere", (base_ + "/link").c_str()), 0);
  ASSERT_TRUE(make_private_directory(base_ + "/directory").ok());
  for (const std::string name : {"/link", "/directory"}) {
    const Status made = make_private_directory(base_ + name);
    EXPECT_EQ(made.code(), StatusCode::kAlreadyExists) << name;
    EXPECT_THAT(made.message(), HasSubstr(base_ + name));
  }
}

TEST_F(PrivateDirectoryTest, RefusesOneThatOthersCanWriteToAndSaysWhatToDo) {
  ASSERT_EQ(chmod(base_.c_str(), 0770), 0);
  for (const Status& status : {check_private_directory(base_), check_parent_directory(base_)}) {
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(status.message(), HasSubstr("chmod go-w " + base_));
  }
  ASSERT_EQ(chmod(base_.c_str(), 01777), 0);
  EXPECT_FALSE(check_private_directory(base_).ok());
  EXPECT_TRUE(check_parent_directory(base_).ok());
  ASSERT_EQ(chmod(base_.c_str(), 0755), 0);
  EXPECT_TRUE(check_private_directory(base_).ok());
}

TEST_F(PrivateDirectoryTest, RefusesWhatIsOfAnotherUser) {
  if (geteuid() != 0) {
    EXPECT_FALSE(check_private_directory("/usr").ok());
    EXPECT_TRUE(check_parent_directory("/usr").ok());
    return;
  }
  ASSERT_EQ(chown(base_.c_str(), 4711, 4711), 0);
  for (const Status& status : {check_private_directory(base_), check_parent_directory(base_)}) {
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(status.message(), HasSubstr(base_ + " belongs to another user (id 4711)"));
  }
}

TEST_F(PrivateDirectoryTest, HasNothingAgainstOneThatIsNotThere) {
  EXPECT_TRUE(check_private_directory(base_ + "/none").ok());
  EXPECT_TRUE(check_parent_directory(base_ + "/none").ok());
}

TEST_F(PrivateDirectoryTest, TrustsAFileThatOnlyItsUserCanWrite) {
  const std::string path = base_ + "/file";
  EXPECT_EQ(check_trusted_file(path).code(), StatusCode::kNotFound);
  ASSERT_TRUE(make_local_file_system()->write_atomically(path, "").ok());
  for (const mode_t mode : {0600, 0644, 0664}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    EXPECT_TRUE(check_trusted_file(path).ok()) << mode;
  }
  const std::string link = base_ + "/link";
  ASSERT_EQ(symlink(path.c_str(), link.c_str()), 0);
  EXPECT_TRUE(check_trusted_file(link).ok());
  ASSERT_EQ(chmod(path.c_str(), 0666), 0);
  for (const std::string& one : {path, link})
    EXPECT_EQ(check_trusted_file(one).message(), "other users can write to " + one);
}

}  // namespace
}  // namespace freshet
