#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "runtime/operators/key_selector.h"
#include "runtime/operators/permanent_failure.h"
#include "runtime/operators/typed_edge.h"

namespace freshet {

/// The codec of records that a user's function of their key spreads, `uint32_t P(const K&, uint32_t
/// partitions)`. What it gives out of range is std::out_of_range; what it and the selector throw is
/// thrown on, with whose it is.
template <class K, class T, class P, class F>
class CustomEdge final : public TypedEdge<T> {
 public:
  CustomEdge(P partitioner, F selector)
      : partitioner_(std::move(partitioner)), selector_(std::move(selector)) {}

  uint32_t target(const void* record, uint32_t consumers) const override {
    const auto chosen = choose(*static_cast<const T*>(record), consumers);
    if (std::cmp_less(chosen, 0) || std::cmp_greater_equal(chosen, consumers)) {
      throw std::out_of_range("the partitioner of partition_custom() chose partition " +
                              std::to_string(chosen) + " of " + std::to_string(consumers) +
                              "; it must give 0 to " + std::to_string(consumers - 1));
    }
    return static_cast<uint32_t>(chosen);
  }

 private:
  using Chosen = std::remove_cvref_t<std::invoke_result_t<const P&, const K&, uint32_t>>;
  static_assert(std::is_integral_v<Chosen> && !std::is_same_v<Chosen, bool>,
                "the partitioner of partition_custom gives a number of a partition");

  Chosen choose(const T& record, uint32_t consumers) const {
    try {
      K key_memory{};
      const K& key = selector_.key(record, key_memory);
      return std::invoke(partitioner_, key, consumers);
    } catch (const PermanentFailure&) {
      throw;
    } catch (const std::exception& error) {
      throw std::runtime_error(std::string("partition_custom() threw: ") + error.what());
    } catch (...) {
      throw std::runtime_error("partition_custom() threw something that is no std::exception");
    }
  }

  const P partitioner_;
  const FunctionKeySelector<K, T, F> selector_;
};

}  // namespace freshet
