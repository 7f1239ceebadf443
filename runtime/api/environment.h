#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/api/arguments.h"
#include "runtime/api/data_stream.h"
#include "runtime/api/graph_builder.h"

namespace freshet {

/// What a job's builder is given: its arguments, its settings, and where its dataflow begins.
///
/// The builder runs in the client and in every TaskManager and must do the same everywhere: it must
/// not look at files, clocks, random numbers or anything else but what is here. What it throws is
/// reported to who submits the job.
class Environment {
 public:
  /// `options` outlives it.
  Environment(std::string job_name, const BuildOptions& options);
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  /// The job's own arguments.
  Arguments& arguments() { return arguments_; }

  /// Where records come from. `name` replaces the source's own.
  template <class T>
  DataStream<T> from_source(const Source<T>& source, std::string name = "") {
    LogicalOperator reader;
    reader.name = name.empty() ? source.name : std::move(name);
    if (reader.name.empty()) reader.name = "source";
    reader.bounded = source.bounded;
    reader.repeatable = source.repeatable;
    reader.blocking = source.blocking;
    const uint32_t index = builder_.add_source(std::move(reader), source.reader, source.enumerator,
                                               source.parallelism_max);
    return DataStream<T>(builder_, {StreamEnd{.from = index}});
  }

  /// Of operators that name none: given with the job (`-p`), unless set here.
  uint32_t parallelism() const { return builder_.job_parallelism(); }
  void set_parallelism(uint32_t parallelism) { builder_.set_job_parallelism(parallelism); }

  RuntimeMode mode() const { return builder_.options().mode; }

  void set_name(std::string name);

  /// Every operator runs in a task of its own.
  void disable_operator_chaining() { builder_.disable_job_chaining(); }

  /// Of operators that have none of their own; instead of `-D execution.buffer-timeout.interval`.
  void set_buffer_timeout(Duration timeout) { builder_.set_job_buffer_timeout(timeout); }

  /// A setting of the job (`-D name=value`); `otherwise` when it was not given.
  std::string setting(const std::string& name, const std::string& otherwise = "") const;

  /// `given` as the user who submits the job means it: relative to where the client runs, not to
  /// where a TaskManager does. For every path or pattern that comes from an argument.
  std::string path(const std::string& given) const;
  std::vector<std::string> paths(const std::vector<std::string>& given) const;

  /// For who runs the builder: refuses arguments that nobody asked for and gives the job.
  Result<std::shared_ptr<const BuiltJob>> finish();

 private:
  Arguments arguments_;
  GraphBuilder builder_;
};

}  // namespace freshet
