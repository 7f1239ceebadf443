#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "runtime/operators/local_reduce.h"
#include "runtime/operators/reduce.h"
#include "runtime/operators/typed_edge.h"

namespace freshet {

/// A keyed aggregate of a batch job: one part before the exchange, so that less is exchanged, and
/// one behind it.
struct BatchAggregate {
  std::shared_ptr<const OperatorFactory> alone;  // All of it, behind the exchange.
  std::shared_ptr<const EdgeType> input;         // What the part before takes.
  std::shared_ptr<const OperatorFactory> before;
  std::shared_ptr<const EdgeType> between;
  std::shared_ptr<const OperatorFactory> behind;
};

/// Of a fold, which must be associative. `Out` as of LocalReduction.
template <class Out, class K, class T, class F, class Rows>
BatchAggregate make_batch_reduce(const std::shared_ptr<const KeySelector<K, T>>& selector,
                                 const F& function, const Rows& rows) {
  BatchAggregate made;
  made.alone = make_reduce_factory(Reduction<K, T, F, Rows>{selector, function, Emit::final, rows});
  made.input = std::make_shared<TypedEdge<T>>();
  made.before =
      make_local_reduce_factory(LocalReduction<K, T, F, Rows, Out>{selector, function, rows});
  std::shared_ptr<const KeySelector<K, Out>> out_key;
  if constexpr (std::is_same_v<Out, T>) {
    out_key = selector;
  } else {
    out_key = partial_key<K, T>();
  }
  made.between = std::make_shared<KeyedEdge<K, Out>>(out_key);
  made.behind =
      make_reduce_factory(Reduction<K, T, F, Rows, Out>{out_key, function, Emit::final, rows});
  return made;
}

}  // namespace freshet
