#pragma once

#include <memory>
#include <string>
#include <utility>

#include "runtime/connectors/line_format.h"
#include "runtime/operators/source.h"

namespace freshet {

std::shared_ptr<const OperatorFactory> make_file_factory(std::string directory,
                                                         ErasedLineFormat format);

/// One line per record in DIRECTORY/part-<subtask>, exactly once: all files appear at once, when
/// the whole job has reached its end. Until then they grow in DIRECTORY/.attempt-<n>/, and nothing
/// of an attempt that failed is left. A subtask without records leaves an empty file.
///
/// The directory is made by the job, with its parents; one that exists already is refused before
/// the job starts. It belongs to one sink of one job: a job with
/// two sinks for it is refused, and one that meets another job's files there fails at once.
template <class T, class Formatter>
Sink<T> file_sink(std::string directory, Formatter formatter) {
  return {"files", make_file_factory(std::move(directory), erase_format<T>(std::move(formatter)))};
}

template <class T>
Sink<T> file_sink(std::string directory) {
  return {"files", make_file_factory(std::move(directory), default_format<T>())};
}

}  // namespace freshet
