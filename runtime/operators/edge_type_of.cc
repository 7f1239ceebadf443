#include "runtime/operators/edge_type_of.h"

#include "runtime/operators/edge_type.h"

namespace freshet {

Result<std::shared_ptr<const EdgeType>> edge_type_of(const BuiltJob& built, const JobEdge& edge) {
  auto type =
      built.edge_type(edge.source_operator, edge.source_output, edge.target_operator, edge.input);
  if (type == nullptr) {
    return invalid_argument("the module has no record type for dataset " +
                            std::to_string(edge.id.value));
  }
  return type;
}

}  // namespace freshet
