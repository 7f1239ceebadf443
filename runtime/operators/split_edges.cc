#include "runtime/operators/split_edges.h"

#include <stdexcept>
#include <string>

#include "runtime/operators/source.h"
#include "runtime/operators/typed_edge.h"

namespace freshet {
namespace {

class SplitEdge final : public TypedEdge<Split> {
 public:
  uint32_t target(const void* record, uint32_t consumers) const override {
    const uint32_t reader = static_cast<const Split*>(record)->reader;
    if (reader >= consumers) {
      throw std::out_of_range("a split is for reader " + std::to_string(reader) + " of " +
                              std::to_string(consumers));
    }
    return reader;
  }
};

}  // namespace

std::shared_ptr<const EdgeType> make_split_edge() { return std::make_shared<SplitEdge>(); }

std::shared_ptr<const EdgeType> make_split_request_edge() {
  return std::make_shared<TypedEdge<SplitRequest>>();
}

}  // namespace freshet
