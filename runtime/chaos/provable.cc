#include "runtime/chaos/provable.h"

#include <fmt/format.h>

#include <map>

namespace freshet::chaos {

namespace {

constexpr std::string_view kUseFileSink =
    "give a test of it a file_sink(), whose files appear when the job has ended";

Status check_source(const LogicalOperator& source) {
  if (!source.repeatable) {
    return failed_precondition(fmt::format(
        "the source '{}' cannot be read again, so that records are lost with any failure and "
        "nothing can be compared; give the job a source that can, such as text_files()",
        source.name));
  }
  if (source.bounded) return Status();
  return failed_precondition(
      fmt::format("the source '{}' has no end, so that its result is never whole; give the job a "
                  "number of records, such as the count of data_generator()",
                  source.name));
}

Status check_sink(const LogicalOperator& sink) {
  const Publication& publication = sink.publication;
  switch (publication.visible) {
    case Visible::kUnknown:
      return failed_precondition(
          fmt::format("the sink '{}' does not say when others see its records "
                      "(OperatorFactory::publication()); {}",
                      sink.name, kUseFileSink));
    case Visible::kAtOnce:
      return failed_precondition(fmt::format(
          "the sink '{}' shows records at once and again after a failure, so that its output is "
          "not exact; {}",
          sink.name, kUseFileSink));
    case Visible::kNever:
      return Status();
    case Visible::kCommitted:
      break;
  }
  if (publication.directory.empty()) {
    return failed_precondition(
        fmt::format("the sink '{}' leaves its records where nobody can compare them; {}", sink.name,
                    kUseFileSink));
  }
  if (publication.directory.front() == '/') return Status();
  return failed_precondition(fmt::format(
      "the directory '{}' of the sink '{}' is relative, so that it depends on the process where it "
      "lies; let the job name it with env.path()",
      publication.directory, sink.name));
}

std::string without_slashes_at_end(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

}  // namespace

Result<std::vector<SinkOutput>> check_provable(const LogicalGraph& graph) {
  std::vector<SinkOutput> outputs;
  std::map<std::string, uint32_t> same_name;
  for (const LogicalOperator& one : graph.operators) {
    if (one.source) RETURN_IF_ERROR(check_source(one));
    if (!one.sink) continue;
    RETURN_IF_ERROR(check_sink(one));
    if (one.publication.visible != Visible::kCommitted) continue;
    const uint32_t number = ++same_name[one.name];
    outputs.push_back({number == 1 ? one.name : fmt::format("{} {}", one.name, number),
                       without_slashes_at_end(one.publication.directory)});
  }
  if (!outputs.empty()) return outputs;
  return failed_precondition(
      fmt::format("the job leaves nothing that could be compared; {}", kUseFileSink));
}

}  // namespace freshet::chaos
