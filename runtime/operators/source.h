#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "runtime/operators/operator.h"

namespace freshet {

/// A piece of a source's data, for one reader. Travels from the enumerator over an edge with
/// Partitioning::kDirect.
struct Split {
  uint32_t reader = 0;
  std::string payload;  // The source's own encoding.
};

/// A reader without work. Travels from each reader to the enumerator over a feedback edge.
struct SplitRequest {
  uint32_t reader = 0;
  uint32_t readers = 1;  // There are in all.
};

/// A source is two operators. The enumerator (a hidden coordinator task of parallelism 1; input 0:
/// SplitRequest, output 0: Split) decides which reader gets which split, and ends its data when
/// there are none left. Each reader (a SourceOperator; input 0: Split, output 0: T, output 1:
/// SplitRequest) asks for a split when it starts and whenever it is done with one, and ends when
/// the enumerator has ended and its last split is read.
template <class T>
struct Source {
  std::string name;
  bool bounded = true;
  bool repeatable = true;  // Read again it gives the same records, as after a failure.
  bool blocking = false;   // Its poll() may block: the reader's task gets a thread of its own.
  std::shared_ptr<const OperatorFactory> enumerator;
  std::shared_ptr<const OperatorFactory> reader;
  uint32_t parallelism_max = 0;  // Most readers that make sense; 0: any.
};

/// An operator without output.
template <class T>
struct Sink {
  std::string name;
  std::shared_ptr<const OperatorFactory> writer;
};

}  // namespace freshet
