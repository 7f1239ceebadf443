#include "runtime/graph/job_graph.h"

namespace freshet {

std::string JobVertex::name() const {
  std::string text;
  for (const ChainedOperator& one : operators) {
    if (!text.empty()) text += " -> ";
    text += one.name;
  }
  return text;
}

std::vector<DatasetId> JobGraph::inputs_of(VertexId vertex) const {
  std::vector<DatasetId> ids;
  for (const JobEdge& edge : edges) {
    if (edge.consumer == vertex) ids.push_back(edge.id);
  }
  return ids;
}

std::vector<DatasetId> JobGraph::outputs_of(VertexId vertex) const {
  std::vector<DatasetId> ids;
  for (const JobEdge& edge : edges) {
    if (edge.producer == vertex) ids.push_back(edge.id);
  }
  return ids;
}

}  // namespace freshet
