#include "runtime/app/job_compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "runtime/base/file_system.h"

namespace freshet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kToolchain =
    "compiler /nowhere/g++\ncompiler g++-12\nflag -std=c++20\nflag -O2 \ngnu-flag -fno-gnu-unique\n"
    "headers ../../include/freshet\nlibrary ../libfreshet.so\nlink -lfmt\n";

TEST(JobToolchainTest, ReadsPathsFromTheFolderOfItsFile) {
  const auto toolchain = JobToolchain::parse(kToolchain, "/opt/f/lib/freshet/toolchain");
  ASSERT_TRUE(toolchain.ok()) << toolchain.status().message();
  EXPECT_THAT(toolchain->compilers, ElementsAre("/nowhere/g++", "g++-12"));
  EXPECT_EQ(toolchain->headers, "/opt/f/include/freshet");
  EXPECT_EQ(toolchain->library, "/opt/f/lib/libfreshet.so");
  const auto absolute = JobToolchain::parse("compiler c\nheaders /h\nlibrary /l.so\n", "/opt/x");
  ASSERT_TRUE(absolute.ok());
  EXPECT_EQ(absolute->headers, "/h");
}

TEST(JobToolchainTest, RefusesWhatItDoesNotKnowOrMisses) {
  const auto message = [](const char* text) {
    return JobToolchain::parse(text, "/t").status().message();
  };
  EXPECT_EQ(message("speed 9\n"), "/t: it has a line 'speed 9', which means nothing");
  EXPECT_EQ(message("flag\n"), "/t: 'flag' says nothing");
  EXPECT_EQ(message("compiler g++\n"), "/t does not name compiler, headers and library");
  EXPECT_EQ(message(""), "/t does not name compiler, headers and library");
}

/// Compilers that are scripts.
class JobCompilerTest : public ::testing::Test {
 protected:
  JobCompilerTest() {
    char path[] = "/tmp/freshet-test-XXXXXX";
    EXPECT_NE(mkdtemp(path), nullptr);
    directory_ = path;
    environment_.path = directory_ + ":/usr/bin:/bin";
    toolchain_ = *JobToolchain::parse(kToolchain, "/opt/f/lib/freshet/toolchain");
    toolchain_.compilers = {"/nowhere/g++", "made-up-compiler"};
  }
  ~JobCompilerTest() override { EXPECT_TRUE(files_->remove_all(directory_).ok()); }

  void add_program(const std::string& name, const std::string& script) {
    const std::string path = directory_ + "/" + name;
    ASSERT_TRUE(files_->write_atomically(path, "#!/bin/sh\n" + script + "\n").ok());
    ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  }

  const std::unique_ptr<FileSystem> files_ = make_local_file_system();
  std::string directory_;
  JobToolchain toolchain_;
  CompilerEnvironment environment_;
};

TEST_F(JobCompilerTest, SaysWhatToInstallWhenThereIsNone) {
  const Status status = JobCompiler::find(toolchain_, environment_).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "there is no C++ compiler, neither /nowhere/g++ nor made-up-compiler: install one with "
            "'apt-get install g++', or name one with CXX");
}

TEST_F(JobCompilerTest, NamesACompilerOfTheEnvironmentThatIsNone) {
  environment_.compiler = "not-there --flag";
  EXPECT_EQ(JobCompiler::find(toolchain_, environment_).status().message(),
            "the compiler that CXX names cannot be used: not-there is not in PATH");
  environment_.compiler = "false";
  EXPECT_THAT(JobCompiler::find(toolchain_, environment_).status().message(),
              HasSubstr("false is no compiler: with --version it ends with exit code 1"));
}

TEST_F(JobCompilerTest, PutsFlagsInFrontOfSourcesAndLibrariesBehind) {
  add_program("made-up-compiler", "echo 'made up (GCC) 12'");
  environment_.flags = " -Wall  -g ";
  const auto compiler = JobCompiler::find(toolchain_, environment_);
  ASSERT_TRUE(compiler.ok()) << compiler.status().message();
  EXPECT_THAT(compiler->arguments_of({{"a.cc", "-b.cc"}, {"-lz"}, "m.so", "m.d"}),
              ElementsAre("-std=c++20", "-O2 ", "-fno-gnu-unique", "-I/opt/f/include/freshet",
                          "-Wall", "-g", "-shared", "-o", "m.so", "-MD", "-MF", "m.d", "-MT",
                          "module", "a.cc", "./-b.cc", "-lz", "/opt/f/lib/libfreshet.so", "-lfmt"));
}

TEST_F(JobCompilerTest, KeepsFlagsOfGccFromClang) {
  add_program("other", "test \"$1\" = --wrapped && echo 'Debian clang version 14'");
  environment_.compiler = "other --wrapped";
  const auto compiler = JobCompiler::find(toolchain_, environment_);
  ASSERT_TRUE(compiler.ok()) << compiler.status().message();
  EXPECT_THAT(compiler->arguments_of({{"a.cc"}, {}, "m.so", ""}),
              ElementsAre("--wrapped", "-std=c++20", "-O2 ", "-I/opt/f/include/freshet", "-shared",
                          "-o", "m.so", "a.cc", "/opt/f/lib/libfreshet.so", "-lfmt"));
}

TEST_F(JobCompilerTest, IsAnotherOneWhenAnythingChangesThatDecidesAboutAModule) {
  add_program("made-up-compiler", "echo 'version 1'");
  const auto identity = [this] { return JobCompiler::find(toolchain_, environment_)->identity(); };
  const std::string first = identity();
  EXPECT_EQ(identity(), first);
  const CompilerEnvironment before = environment_;
  environment_.flags = "-O0";
  EXPECT_NE(identity(), first);
  environment_ = before;
  environment_.include_path = "/elsewhere";
  EXPECT_NE(identity(), first);
  environment_ = before;
  toolchain_.link.push_back("-lz");
  EXPECT_NE(identity(), first);
  toolchain_.link.pop_back();
  add_program("made-up-compiler", "echo 'version 2'");
  EXPECT_NE(identity(), first);
}

TEST_F(JobCompilerTest, TellsWhichSourcesWereRefused) {
  add_program("made-up-compiler", "test \"$1\" = --version && echo 1 || exit 4");
  const auto compiler = JobCompiler::find(toolchain_, environment_);
  ASSERT_TRUE(compiler.ok()) << compiler.status().message();
  EXPECT_EQ(
      compiler->compile({{"a.cc", "b.cc"}, {}, "m.so", ""}).message(),
      "a.cc, b.cc could not be built: " + directory_ + "/made-up-compiler ended with exit code 4");
}

}  // namespace
}  // namespace freshet
