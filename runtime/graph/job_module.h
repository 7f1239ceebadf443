#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/ids.h"
#include "runtime/base/status.h"
#include "runtime/graph/logical_graph.h"

namespace freshet {

namespace proto {
class BuildOptionsProto;
}
class OperatorFactory;  // runtime/operators/operator.h
class EdgeType;         // runtime/operators/edge_type.h

/// What a builder is given, everywhere the same: its result must depend on nothing else.
struct BuildOptions {
  std::vector<std::string> arguments = {};
  uint32_t parallelism = 1;
  RuntimeMode mode = RuntimeMode::kStreaming;
  std::map<std::string, std::string> configuration = {};
  bool operator==(const BuildOptions&) const = default;
};

void to_proto(const BuildOptions&, proto::BuildOptionsProto*);
Result<BuildOptions> from_proto(const proto::BuildOptionsProto&);

/// The dataflow that a module built, with the code of its operators. Immutable after it was built;
/// thread-safe.
class BuiltJob {
 public:
  virtual ~BuiltJob() = default;

  virtual const std::string& name() const = 0;
  /// With ids assigned.
  virtual const LogicalGraph& graph() const = 0;
  /// Null when there is none.
  virtual std::shared_ptr<const OperatorFactory> operator_factory(OperatorId) const = 0;
  /// Codec and key selector of the records of one edge, as named by JobEdge; null when there is
  /// none.
  virtual std::shared_ptr<const EdgeType> edge_type(OperatorId source, uint32_t output,
                                                    OperatorId target, uint32_t input) const = 0;
};

/// A loaded job module. Thread-safe.
class JobModule {
 public:
  virtual ~JobModule() = default;

  /// Runs the user's builder, once. What it throws, a bad argument: kUserError or kInvalidArgument
  /// with the builder's words. Whether it builds the same again is for the client to see, before it
  /// submits; everybody else compares the fingerprint with what was submitted.
  virtual Result<std::shared_ptr<const BuiltJob>> build(const BuildOptions&) = 0;
};

/// Finds modules by file. Never unloads one: code of old attempts may still run. Thread-safe.
class ModuleLoader {
 public:
  virtual ~ModuleLoader() = default;

  /// Not a module, another ABI, a full-runtime Protobuf registration: kInvalidArgument that names
  /// file and reason. `path` should carry the content's hash, so that versions do not meet.
  virtual Result<std::shared_ptr<JobModule>> load(const std::string& path) = 0;
};

}  // namespace freshet
