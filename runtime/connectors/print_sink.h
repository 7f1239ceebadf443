#pragma once

#include <memory>
#include <utility>

#include "runtime/connectors/line_format.h"
#include "runtime/operators/source.h"

namespace freshet {

std::shared_ptr<const OperatorFactory> make_print_factory(ErasedLineFormat format);

/// One line per record on standard output of the process that runs the task: the terminal with
/// --local, in a cluster the TaskManager's `.out` file. That grows without bound while something is
/// printed and goes when the cluster is stopped: a job that runs for long wants file_sink(). Lines
/// of several tasks are never mixed within a line; they appear within 100 ms while records keep
/// coming, and at the end. Not exactly once: a restarted job prints again.
template <class T, class Formatter>
Sink<T> print_sink(Formatter formatter) {
  return {"print", make_print_factory(erase_format<T>(std::move(formatter)))};
}

template <class T>
Sink<T> print_sink() {
  return {"print", make_print_factory(default_format<T>())};
}

}  // namespace freshet
