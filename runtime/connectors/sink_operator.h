#pragma once

#include <functional>
#include <memory>

#include "runtime/operators/operator.h"

namespace freshet {

/// What an OperatorFactory of a sink is made of. All but `writer` may be empty.
struct SinkParts {
  std::function<std::unique_ptr<Operator>()> writer;
  std::function<std::unique_ptr<Committer>()> committer;
  std::function<Status(const JobId&, FileSystem&)> check;
  std::function<void(const JobId&, FileSystem&)> clean_up;
  std::string owned;
  Publication publication;
};

std::shared_ptr<const OperatorFactory> make_sink_factory(SinkParts parts);

}  // namespace freshet
