#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/api/arguments.h"

namespace freshet {

/// What a job's checker is given: what the sinks of one run left, and where to tell what is wrong
/// with it.
class ResultCheck {
 public:
  virtual ~ResultCheck() = default;

  /// Those that the job's builder got.
  virtual Arguments& arguments() = 0;

  /// The names of the sinks that leave files: as the builder gave them, and `files`, `files 2` and
  /// so on for those with one name.
  virtual const std::vector<std::string>& sinks() const = 0;

  /// Gives each record of a sink, as the line that it is, in no order. Throws UsageError when there
  /// is no such sink.
  virtual void for_each(const std::string& sink,
                        const std::function<void(std::string_view)>& use) = 0;

  /// All of them, in memory.
  std::vector<std::string> records(const std::string& sink) {
    std::vector<std::string> all;
    for_each(sink, [&all](std::string_view record) { all.emplace_back(record); });
    return all;
  }

  // Each call is one record that is wrong. A result of which nothing was told is right.
  virtual void lost(std::string_view record) = 0;
  virtual void doubled(std::string_view record) = 0;
  /// It is there as `record` and should be `expected`.
  virtual void altered(std::string_view record, std::string_view expected) = 0;
  virtual void invented(std::string_view record) = 0;
};

}  // namespace freshet

/// Beside FRESHET_JOB, in the same file: says whether the result of a run is right, by a model of
/// the job. `freshet chaos` runs it, in a process of its own, instead of running the job
/// undisturbed. The body gets `freshet::ResultCheck& check`:
///
///   FRESHET_CHECK(word_count) {
///     std::map<std::string, int> counts = count_words(check.arguments().list("input", "files"));
///     check.for_each("counts", [&](std::string_view line) { ... check.invented(line); });
///     for (...) check.lost(...);
///   }
#define FRESHET_CHECK(job)                                                                         \
  static void freshet_check_##job(::freshet::ResultCheck& check);                                  \
  extern "C" {                                                                                     \
  __attribute__((visibility("default"))) void freshet_check_result(::freshet::ResultCheck* check); \
  }                                                                                                \
  void freshet_check_result(::freshet::ResultCheck* check) { freshet_check_##job(*check); }        \
  static void freshet_check_##job([[maybe_unused]] ::freshet::ResultCheck& check)
