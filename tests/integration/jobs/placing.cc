// Numbers from a generator, spread by a partitioner to subtasks in a slot sharing group, which
// write them to files: part-<i> has what partition i got.

#include <stdexcept>

#include "runtime/api/job.h"
#include "runtime/connectors/data_generator.h"
#include "runtime/connectors/file_sink.h"

FRESHET_JOB(placing) {
  freshet::Arguments& arguments = env.arguments();
  const auto count = static_cast<uint64_t>(arguments.integer_or("count", 100, "how many", 0));
  const auto rate = static_cast<double>(arguments.integer_or("rate", 0, "per second"));
  const std::string group = arguments.text_or("group", "default", "of the second half");
  const std::string bad = arguments.text_or("bad", "", "range or throw: what is wrong with 77");
  const std::string output = env.path(arguments.text("output", "directory to make"));
  env.from_source(freshet::data_generator([](uint64_t index) { return index; }, count, rate))
      .map([](uint64_t number) { return number; })
      .name("first half")
      .partition_custom(
          [bad](const uint64_t& key, uint32_t partitions) -> uint64_t {
            if (key == 77 && bad == "range") return 1000;
            if (key == 77 && bad == "throw") throw std::runtime_error("77 has no place");
            return key % partitions;
          },
          [](uint64_t number) { return number; })
      .map([](uint64_t number) { return number; })
      .name("second half")
      .slot_sharing_group(group)
      .sink_to(freshet::file_sink<uint64_t>(output));
}
