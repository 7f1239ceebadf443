#include "runtime/app/module_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>

namespace freshet {
namespace {

using ::testing::HasSubstr;

class ModuleCacheTest : public ::testing::Test {
 protected:
  ModuleCacheTest() {
    char path[] = "/tmp/freshet-test-XXXXXX";
    EXPECT_NE(mkdtemp(path), nullptr);
    directory_ = path;
    write("source.cc", "source");
    write("header.h", "header");
  }
  ~ModuleCacheTest() override { EXPECT_TRUE(files_->remove_all(directory_).ok()); }

  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  /// An old file: what is written while something is built is told by its time.
  void write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(files_->write_atomically(path(name), text).ok());
    set_age(path(name), std::chrono::hours(1));
  }
  static void set_age(const std::string& file, std::chrono::minutes age) {
    const auto now = std::filesystem::file_time_type::clock::now();
    std::filesystem::last_write_time(file, now - age);
  }
  ModuleCache cache() {
    auto cache = ModuleCache::of(path("state"), *files_);
    EXPECT_TRUE(cache.ok()) << cache.status().message();
    return *std::move(cache);
  }
  /// As a build does: makes a module, which is kept.
  std::string build(
      const std::string& key, const std::string& module,
      const std::function<void()>& meanwhile = [] {}) {
    const ModuleCache modules = cache();
    const auto building = modules.make_build_directory();
    EXPECT_TRUE(building.ok()) << building.status().message();
    meanwhile();
    EXPECT_TRUE(files_->write_atomically(*building + "/job.so", module).ok());
    const auto stored =
        modules.store(key, *building + "/job.so", {path("source.cc"), path("header.h")});
    EXPECT_TRUE(stored.ok()) << stored.status().message();
    EXPECT_TRUE(files_->remove_all(*building).ok());
    return stored.ok() ? *stored : "";
  }
  std::string found(const std::string& key) {
    const auto module = cache().find(key);
    return module ? *files_->read_all(*module) : "nothing";
  }

  const std::unique_ptr<FileSystem> files_ = make_local_file_system();
  std::string directory_;
};

TEST_F(ModuleCacheTest, FindsWhatWasBuilt) {
  EXPECT_EQ(found("key"), "nothing");
  const std::string stored = build("key", "module");
  EXPECT_EQ(*files_->read_all(stored), "module");
  EXPECT_EQ(found("key"), "module");
  EXPECT_EQ(found("other"), "nothing");
}

TEST_F(ModuleCacheTest, KeepsModulesWithTheLongestNames) {
  const ModuleCache modules = cache();
  const auto building = modules.make_build_directory();
  ASSERT_TRUE(building.ok());
  const std::string module = *building + "/" + std::string(252, 'a') + ".so";
  ASSERT_TRUE(files_->write_atomically(*building + "/job.so", "module").ok());
  ASSERT_TRUE(files_->rename(*building + "/job.so", module).ok());
  const auto stored = modules.store("key", module, {});
  ASSERT_TRUE(stored.ok()) << stored.status().message();
  EXPECT_EQ(*files_->read_all(*stored), "module");
  EXPECT_TRUE(files_->remove_all(*building).ok());
}

TEST_F(ModuleCacheTest, ForgetsWhenAFileThatWasReadChangesOrGoes) {
  const std::string first = build("key", "module");
  write("header.h", "HEADER");
  EXPECT_EQ(found("key"), "nothing");
  const std::string second = build("key", "another module");
  EXPECT_EQ(found("key"), "another module");
  EXPECT_EQ(*files_->read_all(first), "module") << "somebody may have loaded it";
  ASSERT_TRUE(files_->remove(path("header.h")).ok());
  EXPECT_EQ(found("key"), "nothing");
  write("header.h", "HEADER");
  EXPECT_EQ(found("key"), "another module");
  ASSERT_TRUE(files_->remove(second).ok());
  EXPECT_EQ(found("key"), "nothing");
}

TEST_F(ModuleCacheTest, DoesNotTrustAFileThatChangedWhileItWasBuilt) {
  const std::string stored = build("key", "module", [this] {
    // Now: it may have been read before or after.
    ASSERT_TRUE(files_->write_atomically(path("header.h"), "changed").ok());
    set_age(path("header.h"), std::chrono::minutes(-1));
  });
  EXPECT_EQ(*files_->read_all(stored), "module");
  EXPECT_EQ(found("key"), "nothing");
}

TEST_F(ModuleCacheTest, FindsNothingInAManifestThatIsDamaged) {
  build("key", "module");
  const std::string manifest = path("state/.modules/key.manifest");
  const std::string whole = *files_->read_all(manifest);
  ASSERT_EQ(found("key"), "module");
  for (const std::string& text :
       {std::string(), std::string("freshet-module 2\n"), std::string("freshet-module 1\n"),
        whole + "file\n", whole + "file 123 /x\n", whole + "nonsense\n"}) {
    ASSERT_TRUE(files_->write_atomically(manifest, text).ok());
    EXPECT_EQ(found("key"), "nothing") << text;
  }
}

TEST_F(ModuleCacheTest, KeepsSoManyModulesAndThoseThatWereUsedLast) {
  for (size_t i = 0; i <= ModuleCache::kModulesMax; i++) {
    const std::string key = std::to_string(i);
    const std::string stored = build(key, "module " + key);
    const auto age = std::chrono::minutes(1000 - static_cast<int>(i));
    set_age(stored, age);
    set_age(path("state/.modules/" + key + ".manifest"), age);
    if (i == 1) {
      EXPECT_EQ(found("0"), "module 0");  // Used now.
    }
  }
  build("last", "last module");
  EXPECT_EQ(found("0"), "module 0");
  EXPECT_EQ(found("1"), "nothing");
  EXPECT_EQ(found("2"), "nothing");
  EXPECT_EQ(found("3"), "module 3");
  EXPECT_EQ(files_->list(path("state/.modules"))->size(), 2 * ModuleCache::kModulesMax);
}

TEST_F(ModuleCacheTest, RefusesADirectoryThatOthersCanWriteTo) {
  cache();
  ASSERT_EQ(chmod(path("state/.modules").c_str(), 0777), 0);
  const auto refused = ModuleCache::of(path("state"), *files_);
  EXPECT_THAT(refused.status().message(), HasSubstr("other users can write to"));
}

}  // namespace
}  // namespace freshet
