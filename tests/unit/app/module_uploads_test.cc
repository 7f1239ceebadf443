#include "runtime/app/module_uploads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "runtime/base/memory_file_system.h"

namespace freshet {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

class ModuleUploadsTest : public ::testing::Test {
 protected:
  ModuleUploadsTest() {
    options_.directory = "/jm/uploads";
    options_.module_bytes_max = 100;
    options_.build_timeout = 1min;
    options_.job_manager = {"127.0.0.1", 6123};
  }

  /// Of these options.
  std::unique_ptr<ModuleUploads> make() {
    return ModuleUploads::open(options_, files_, clock_).value();
  }

  static Result<std::string> upload(ModuleUploads& uploads, const std::string& name,
                                    const std::string& bytes) {
    ASSIGN_OR_RETURN(const auto upload, uploads.begin(name));
    RETURN_IF_ERROR(upload->append(bytes));
    return upload->finish();
  }

  MemoryFileSystem files_;
  ManualClock clock_;
  ModuleUploads::Options options_;
};

TEST_F(ModuleUploadsTest, KeepsModulesUntilTheyAreRemoved) {
  ASSERT_TRUE(files_.create_directories("/jm/uploads/old").ok());
  const auto uploads = make();
  EXPECT_TRUE(files_.list("/jm/uploads")->empty());
  const std::string path = upload(*uploads, "C:\\my jobs/../the job.so", "bytes").value();
  EXPECT_THAT(path, EndsWith("_the_job.so"));
  EXPECT_EQ(*files_.read_all(path), "bytes");
  const auto list = uploads->list();
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ("/jm/uploads/" + list[0].id, path);
  EXPECT_EQ(list[0].name, "the_job.so");
  EXPECT_EQ(list[0].uploaded, clock_.epoch_millis());
  EXPECT_NE(upload(*uploads, "the job.so", "bytes").value(), path);
  ASSERT_TRUE(uploads->remove(list[0].id).ok());
  EXPECT_FALSE(files_.info(path).ok());
  EXPECT_EQ(uploads->remove(list[0].id).code(), StatusCode::kNotFound);
  EXPECT_EQ(uploads->remove("../../etc/passwd").code(), StatusCode::kNotFound);
}

TEST_F(ModuleUploadsTest, LeavesNothingBehind) {
  auto uploads = make();
  {
    const auto dropped = uploads->begin("a.so").value();
    ASSERT_TRUE(dropped->append("half").ok());
    EXPECT_EQ(files_.list("/jm/uploads")->size(), 1u);
  }
  EXPECT_TRUE(files_.list("/jm/uploads")->empty());
  auto late = uploads->begin("b.so").value();
  uploads = nullptr;
  EXPECT_FALSE(files_.info("/jm/uploads").ok());
  late = nullptr;
}

TEST_F(ModuleUploadsTest, RefusesWhatIsNoModuleByItsNameOrSize) {
  const auto uploads = make();
  for (const std::string& name : {std::string(), std::string("job.cc"), std::string(".so"),
                                  std::string("job.so/"), std::string(200, 'x') + ".so"})
    EXPECT_THAT(uploads->begin(name).status().message(), HasSubstr("is no name of a job module"));
  EXPECT_THAT(upload(*uploads, "a.so", "").status().message(), HasSubstr("'a.so' is empty"));
  EXPECT_THAT(upload(*uploads, "a.so", std::string(101, 'x')).status().message(),
              HasSubstr("the module is larger than 100 bytes"));
  EXPECT_TRUE(uploads->list().empty());
}

TEST_F(ModuleUploadsTest, KeepsNoMoreThanItsBounds) {
  const auto uploads = make();
  {
    std::vector<std::unique_ptr<UploadedModules::Upload>> together;
    for (size_t i = 0; i < ModuleUploads::kUploadsMax; ++i)
      together.push_back(uploads->begin("a.so").value());
    EXPECT_THAT(uploads->begin("a.so").status().message(),
                HasSubstr("8 modules are being uploaded; try again later"));
  }
  for (size_t i = 0; i < ModuleUploads::kModulesMax; ++i)
    ASSERT_TRUE(upload(*uploads, "a.so", "bytes").ok());
  EXPECT_THAT(upload(*uploads, "a.so", "bytes").status().message(),
              HasSubstr("64 modules are kept here, and no more"));
  ASSERT_TRUE(uploads->remove(uploads->list().front().id).ok());
  EXPECT_TRUE(upload(*uploads, "a.so", "bytes").ok());
}

TEST_F(ModuleUploadsTest, SaysHowABuildEnded) {
  for (const auto& [program, message] : std::vector<std::pair<std::string, std::string>>{
           {"/bin/false", "the process that builds the job ended without a word (exit code 1)"},
           {"/bin/true", "the process that builds the job ended without a word (exit code 0)"},
           {"/nowhere/freshet", "cannot start /nowhere/freshet"}}) {
    options_.program = program;
    const auto uploads = make();
    (void)upload(*uploads, "a.so", "bytes");
    EXPECT_THAT(uploads->run(uploads->list()[0].id, {}).status().message(), HasSubstr(message));
    EXPECT_EQ(uploads->run("other", {}).status().code(), StatusCode::kNotFound);
  }
}

TEST_F(ModuleUploadsTest, BuildsNothingMoreOnceItEnds) {
  options_.program = "/bin/echo";
  const auto uploads = make();
  (void)upload(*uploads, "a.so", "bytes");
  uploads->stop();
  EXPECT_EQ(uploads->plan(uploads->list()[0].id, {}).status(),
            unavailable("the JobManager is ending"));
}

TEST(ModuleUploadsOptionsTest, NamesTheSettingThatForbidsJobs) {
  Configuration configuration;
  EXPECT_TRUE(ModuleUploads::options_of(configuration)->allowed.ok());
  ASSERT_TRUE(configuration.set("web.submit.enable", "false").ok());
  EXPECT_EQ(ModuleUploads::options_of(configuration)->allowed.message(),
            "no jobs are taken here: web.submit.enable is false in the settings");
  ASSERT_TRUE(configuration.set("jobmanager.submit.enable", "false").ok());
  EXPECT_EQ(ModuleUploads::options_of(configuration)->allowed.message(),
            "no jobs are taken here: jobmanager.submit.enable is false in the settings");
}

}  // namespace
}  // namespace freshet
