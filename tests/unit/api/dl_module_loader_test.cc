#include "runtime/api/dl_module_loader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "runtime/api/abi.h"
#include "runtime/api/built_job.h"
#include "runtime/testing/operator_harness.h"

namespace freshet {
namespace {

BuildOptions options_with(uint32_t parallelism, std::vector<std::string> arguments) {
  BuildOptions options;
  options.arguments = std::move(arguments);
  options.parallelism = parallelism;
  return options;
}

class DlModuleLoaderTest : public ::testing::Test {
 protected:
  ~DlModuleLoaderTest() override { EXPECT_TRUE(files_->remove_all(scratch_).ok()); }

  static std::string path(const std::string& name) {
    return std::string(FRESHET_TEST_MODULES) + "/" + name + ".so";
  }

  /// A module that must be accepted.
  std::shared_ptr<JobModule> load(const std::string& name) {
    auto module = loader_.load(path(name));
    EXPECT_TRUE(module.ok()) << module.status().to_string();
    return module.ok() ? *module : nullptr;
  }

  std::string refusal(const std::string& file) {
    const auto module = loader_.load(file);
    EXPECT_EQ(module.status().code(), StatusCode::kInvalidArgument) << module.status().to_string();
    EXPECT_NE(module.status().message().find(file), std::string::npos) << "does not name the file";
    return module.status().message();
  }

  std::string write(const std::string& name, const std::string& bytes) {
    EXPECT_TRUE(files_->create_directories(scratch_).ok());
    EXPECT_TRUE(files_->write_atomically(scratch_ + "/" + name, bytes).ok());
    return scratch_ + "/" + name;
  }

  std::string read(const std::string& file) { return *files_->read_all(file); }

  const std::unique_ptr<FileSystem> files_ = make_local_file_system();
  const std::string scratch_ =
      ::testing::TempDir() + "dl_module_loader_test." + std::to_string(::getpid());
  DlModuleLoader loader_{*files_};
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(DlModuleLoaderTest, RunsCodeOfAModule) {
  const auto module = load("test_job_good");
  ASSERT_NE(module, nullptr);
  const auto job = module->build(options_with(2, {"--factor", "10"}));
  ASSERT_TRUE(job.ok()) << job.status().to_string();
  EXPECT_EQ((*job)->name(), "good");
  for (const LogicalOperator& one : (*job)->graph().operators) {
    if (one.uid != "multiply") continue;
    testing::OperatorHarness<int64_t> harness(*(*job)->operator_factory(one.id));
    harness.process(int64_t{7});
    EXPECT_EQ(harness.take_outputs(), std::vector<int64_t>{70});
  }
  const auto again = module->build(options_with(2, {"--factor", "11"}));
  EXPECT_EQ(fingerprint_of((*again)->graph()), fingerprint_of((*job)->graph()));
}

TEST_F(DlModuleLoaderTest, GivesOneModuleForOneContent) {
  const auto module = load("test_job_good");
  EXPECT_EQ(load("test_job_good"), module);
  const std::string copy = write("copy.so", read(path("test_job_good")));
  EXPECT_EQ(*loader_.load(copy), module);
}

TEST_F(DlModuleLoaderTest, NeedsNoFileForAModuleFromMemory) {
  const std::string bytes = read(path("test_job_good"));
  const auto module = loader_.load_bytes(bytes, "good.so");
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  EXPECT_EQ(*loader_.load_bytes(bytes, "another.so"), *module);
  const auto other = loader_.load_bytes(read(path("test_job_throwing")), "throwing.so");
  ASSERT_TRUE(other.ok()) << other.status().to_string();
  EXPECT_EQ((*(*module)->build(options_with(2, {"--factor", "10"})))->name(), "good");
  EXPECT_FALSE((*other)->build(options_with(1, {})).ok());
  const auto text = loader_.load_bytes("not a module", "text.so");
  EXPECT_TRUE(contains(text.status().message(), "module 'text.so': it is not a shared object"));
  EXPECT_FALSE(loader_.load_bytes("not a module", "text.so").ok());
}

TEST_F(DlModuleLoaderTest, RefusesAFileThatIsNoModule) {
  EXPECT_TRUE(contains(refusal(write("text.so", "not a module")), "not a shared object"));
  EXPECT_TRUE(contains(refusal(write("empty.so", "")), "not a shared object"));
  EXPECT_TRUE(contains(refusal(path("test_job_no_entry")), "FRESHET_JOB"));
  const std::string missing = scratch_ + "/missing.so";
  EXPECT_EQ(loader_.load(missing).status().code(), StatusCode::kNotFound);
}

TEST_F(DlModuleLoaderTest, RefusesATruncatedModule) {
  const std::string bytes = read(path("test_job_good"));
  refusal(write("half.so", bytes.substr(0, bytes.size() / 2)));
}

TEST_F(DlModuleLoaderTest, RefusesAnotherAbiAndNamesBoth) {
  const std::string text = refusal(path("test_job_other_abi"));
  EXPECT_TRUE(contains(text, "revision 999")) << text;
  EXPECT_TRUE(contains(text, std::string(library_abi_stamp()))) << text;
}

TEST_F(DlModuleLoaderTest, RefusesMessagesOfTheFullProtobufRuntime) {
  EXPECT_TRUE(contains(refusal(path("test_job_not_lite")), "LITE_RUNTIME"));
}

TEST_F(DlModuleLoaderTest, RefusesAFileThatChangedUnderItsPath) {
  const std::string file = write("changing.so", read(path("test_job_good")));
  ASSERT_TRUE(loader_.load(file).ok());
  write("changing.so", read(path("test_job_throwing")));
  EXPECT_TRUE(contains(refusal(file), "changed since"));
}

TEST_F(DlModuleLoaderTest, ReportsWhatABuilderThrows) {
  const auto module = load("test_job_throwing");
  const Status thrown = module->build(BuildOptions()).status();
  EXPECT_EQ(thrown.code(), StatusCode::kUserError);
  EXPECT_TRUE(contains(thrown.message(), "the builder gave up")) << thrown.message();
  EXPECT_EQ(module->build(options_with(7, {})).status().code(), StatusCode::kUserError);
}

TEST_F(DlModuleLoaderTest, RefusesABuilderThatBuildsDifferentlyTheSecondTime) {
  const Status status = build_twice(*load("test_job_changing"), BuildOptions()).status();
  EXPECT_EQ(status.code(), StatusCode::kUserError);
  EXPECT_TRUE(contains(status.message(), "differently the second time")) << status.message();
}

/// Makes an item in one version of the job, carries it over the version's own edge, and shows it.
std::string make_and_show(const BuiltJob& job) {
  const LogicalGraph& graph = job.graph();
  const LogicalOperator* make = nullptr;
  const LogicalOperator* show = nullptr;
  for (const LogicalOperator& one : graph.operators) {
    if (one.uid == "make") make = &one;
    if (one.uid == "show") show = &one;
  }
  class Carry final : public RecordReceiver {
   public:
    Carry(const EdgeType& edge, Operator& to)
        : edge_(edge), reader_(edge.make_reader()), feed_(to) {}
    void receive(const void* record, EpochMillis timestamp) override {
      Encoder encoder;
      edge_.encode(record, encoder);
      reader_->read(encoder.bytes(), timestamp, feed_);
    }

   private:
    class Feed final : public RecordReceiver {
     public:
      explicit Feed(Operator& to) : to_(to) {}
      void receive(const void* record, EpochMillis timestamp) override {
        to_.process(0, record, timestamp);
      }

     private:
      Operator& to_;
    };
    const EdgeType& edge_;
    std::unique_ptr<RecordReader> reader_;
    Feed feed_;
  };
  testing::OperatorHarness<std::string> second(*job.operator_factory(show->id));
  const auto edge = job.edge_type(make->id, 0, show->id, 0);
  Carry carry(*edge, second.operator_under_test());
  testing::TestContext context;
  const auto first = job.operator_factory(make->id)->make();
  first->open(context, {&carry});
  const std::string name = "item";
  first->process(0, &name, 0);
  first->close();
  return second.take_outputs().at(0);
}

TEST_F(DlModuleLoaderTest, RunsTwoVersionsOfOneJobBesideEachOther) {
  const auto one = *load("test_job_version_one")->build(BuildOptions());
  const auto two = *load("test_job_version_two")->build(BuildOptions());
  EXPECT_EQ(one->name(), two->name());
  EXPECT_EQ(make_and_show(*one), "item 2");
  EXPECT_EQ(make_and_show(*two),
            "item 2 noted");  // Its statics are its own: it has counted nothing before.
  EXPECT_EQ(make_and_show(*one), "item 4");
  EXPECT_EQ(make_and_show(*two), "item 4 noted");
}

}  // namespace
}  // namespace freshet
