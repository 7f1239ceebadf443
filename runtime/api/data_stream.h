#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/api/graph_builder.h"
#include "runtime/api/stream_handle.h"
#include "runtime/base/codec.h"
#include "runtime/operators/batch_aggregate.h"
#include "runtime/operators/collector.h"
#include "runtime/operators/custom_edge.h"
#include "runtime/operators/filter.h"
#include "runtime/operators/flat_map.h"
#include "runtime/operators/function_factory.h"
#include "runtime/operators/key_selector.h"
#include "runtime/operators/keyed_process.h"
#include "runtime/operators/map.h"
#include "runtime/operators/reduce.h"
#include "runtime/operators/source.h"
#include "runtime/operators/sum.h"
#include "runtime/operators/typed_edge.h"

namespace freshet {

namespace api_detail {

/// What a record type must be.
template <class T>
constexpr void check_record_type() {
  static_assert(std::is_same_v<T, std::remove_cvref_t<T>>, "a record type is a plain value type");
  static_assert(
      Encodable<T>,
      "no Codec<T>: records are numbers, strings, standard containers, aggregates of these, "
      "Protobuf messages, or types with a specialised freshet::Codec");
  static_assert(std::is_default_constructible_v<T> && std::is_copy_constructible_v<T>,
                "a record type must be default and copy constructible");
}

template <class F>
struct CollectorOf : CollectorOf<decltype(&F::operator())> {};
template <class R, class T, class U>
struct CollectorOf<R (*)(T, Collector<U>&)> {
  using Type = U;
};
template <class C, class R, class T, class U>
struct CollectorOf<R (C::*)(T, Collector<U>&)> {
  using Type = U;
};
template <class C, class R, class T, class U>
struct CollectorOf<R (C::*)(T, Collector<U>&) const> {
  using Type = U;
};

template <class F, class T, class U>
concept FlatMapFunction = requires(F& function, const T& record, Collector<U>& out) {
  function(record, out);
};

template <class K, class T, class U>
U process_output(const KeyedProcessFunction<K, T, U>&);

}  // namespace api_detail

template <class K, class T>
class KeyedStream;

/// The end of a dataflow.
class StreamSink : public StreamHandle<StreamSink> {
 public:
  using StreamHandle::StreamHandle;
};

/// Records of one type on their way through the job: a thin typed face. A handle: it belongs to the
/// builder that made it, copies speak of the same stream. Functions are copied into the job; each
/// subtask calls its own copy, one call at a time. Settings
/// (`name`, `uid`, ...) are those of the operator before them.
template <class T>
class DataStream : public StreamHandle<DataStream<T>> {
 public:
  DataStream(GraphBuilder& builder, std::vector<StreamEnd> ends)
      : StreamHandle<DataStream<T>>(builder, std::move(ends)) {
    api_detail::check_record_type<T>();
  }

  /// `U f(const T&)`: one record for each.
  template <class F>
  auto map(F function) const {
    static_assert(std::is_invocable_v<F&, const T&>, "map takes a function U(const T&)");
    using Op = MapOperator<T, F>;
    return transform<typename Op::Output>("map", make_function_factory<Op>(std::move(function)));
  }

  /// `void f(const T&, Collector<U>&)`: any number of records for each. With `auto` parameters:
  /// `flat_map<U>(f)`.
  template <class F>
  auto flat_map(F function) const {
    return flat_map<typename api_detail::CollectorOf<F>::Type, F>(std::move(function));
  }
  template <class U, api_detail::FlatMapFunction<T, U> F>
  DataStream<U> flat_map(F function) const {
    return transform<U>("flat_map",
                        make_function_factory<FlatMapOperator<T, U, F>>(std::move(function)));
  }

  /// `bool f(const T&)`: keeps those for which it is true.
  template <class F>
  DataStream<T> filter(F function) const {
    static_assert(std::is_invocable_r_v<bool, F&, const T&>,
                  "filter takes a function bool(const T&)");
    return transform<T>("filter", make_function_factory<FilterOperator<T, F>>(std::move(function)));
  }

  /// `K f(const T&)`, or a pointer to a member. Must be pure. One that returns a reference into the
  /// record costs no copy.
  template <class F>
  auto key_by(F selector) const {
    static_assert(std::is_invocable_v<const F&, const T&>,
                  "key_by takes a function K(const T&) or a pointer to a member");
    using K = std::remove_cvref_t<std::invoke_result_t<const F&, const T&>>;
    return KeyedStream<K, T>(this->builder(), this->ends_with(Partitioning::kHash),
                             std::make_shared<FunctionKeySelector<K, T, F>>(std::move(selector)));
  }

  /// The records of all, in no order between them.
  template <class... Others>
  DataStream<T> union_with(const DataStream<T>& first, const Others&... others) const {
    std::vector<StreamEnd> ends = this->ends();
    this->append_ends(ends, first);
    (this->append_ends(ends, others), ...);
    return DataStream<T>(this->builder(), std::move(ends));
  }

  /// How the next operator gets the records: forward when its parallelism is equal and rebalance
  /// otherwise, unless told here.
  DataStream<T> forward() const { return spread(Partitioning::kForward); }
  DataStream<T> rebalance() const { return spread(Partitioning::kRebalance); }
  DataStream<T> rescale() const { return spread(Partitioning::kRescale); }
  DataStream<T> broadcast() const { return spread(Partitioning::kBroadcast); }
  DataStream<T> shuffle() const { return spread(Partitioning::kShuffle); }
  DataStream<T> global() const { return spread(Partitioning::kGlobal); }

  /// `Exchange::kPipelined`: the next operator gets the records while they are made.
  /// `Exchange::kBlocking`: they go to files, and it starts when all are there; then it may run in
  /// the same slots, and again without what is before it. Unless told here: blocking in batch mode
  /// where records change their subtask, else pipelined.
  DataStream<T> exchange(Exchange kind) const {
    return DataStream<T>(this->builder(), this->ends_with(kind));
  }

  /// `uint32_t f(const K& key, uint32_t partitions)` of the key that `selector` (as of key_by())
  /// gives of a record: the subtask of the next operator, below `partitions`. Both must be pure. A
  /// result out of range and what they throw fail the task of the operator before, with its name.
  template <class P, class F>
  DataStream<T> partition_custom(P partitioner, F selector) const {
    static_assert(std::is_invocable_v<const F&, const T&>,
                  "partition_custom takes a function K(const T&) or a pointer to a member, second");
    using K = std::remove_cvref_t<std::invoke_result_t<const F&, const T&>>;
    static_assert(std::is_invocable_v<const P&, const K&, uint32_t>,
                  "partition_custom takes a function uint32_t(const K&, uint32_t), first");
    return DataStream<T>(
        this->builder(),
        this->ends_with(Partitioning::kCustom, std::make_shared<CustomEdge<K, T, P, F>>(
                                                   std::move(partitioner), std::move(selector))));
  }

  StreamSink sink_to(const Sink<T>& sink) const {
    LogicalOperator logical;
    logical.name = sink.name.empty() ? "sink" : sink.name;
    logical.outputs = 0;
    logical.sink = true;
    const uint32_t index = this->builder().add(std::move(logical), sink.writer);
    this->builder().connect(this->ends(), index, 0, std::make_shared<TypedEdge<T>>());
    return StreamSink(this->builder(), {StreamEnd{.from = index}});
  }

  /// For operators that the functions above do not make: one input, one output.
  template <class U>
  DataStream<U> transform(std::string name, std::shared_ptr<const OperatorFactory> factory) const {
    LogicalOperator logical;
    logical.name = std::move(name);
    const uint32_t index = this->builder().add(std::move(logical), std::move(factory));
    this->builder().connect(this->ends(), index, 0, std::make_shared<TypedEdge<T>>());
    return DataStream<U>(this->builder(), {StreamEnd{.from = index}});
  }

 private:
  DataStream<T> spread(Partitioning partitioning) const {
    return DataStream<T>(this->builder(), this->ends_with(partitioning));
  }
};

/// Records spread by key: all records of one key meet in one subtask.
template <class K, class T>
class KeyedStream {
 public:
  KeyedStream(GraphBuilder& builder, std::vector<StreamEnd> ends,
              std::shared_ptr<const KeySelector<K, T>> selector)
      : builder_(&builder), ends_(std::move(ends)), selector_(std::move(selector)) {
    api_detail::check_record_type<K>();
  }

  /// As DataStream::exchange().
  KeyedStream exchange(Exchange kind) const {
    KeyedStream told = *this;
    for (StreamEnd& end : told.ends_) end.exchange = kind;
    return told;
  }

  /// `T f(const T& so_far, const T& record)`, or `void f(T& so_far, const T& record)`, which saves
  /// a copy. Must be associative. A stream emits every new value, unless told otherwise; a batch
  /// the last value of each key, always, and folds parts of the records before they are exchanged.
  template <class F>
  DataStream<T> reduce(F function, Emit emit = Emit::updates) const {
    static_assert(std::is_invocable_v<F&, T&, const T&>,
                  "reduce takes a function T(const T&, const T&) or void(T&, const T&)");
    using Rows = KeyBesideValue<K, T>;
    auto batch = make_batch_reduce<Partial<K, T>>(selector_, function, Rows());
    const uint32_t index =
        add("reduce", make_reduce_factory<K, T, F>({selector_, std::move(function), emit}));
    builder_->set_batch(index, std::move(batch));
    return DataStream<T>(*builder_, {StreamEnd{.from = index}});
  }

  /// Adds up one field, a pointer to a member or a function `V& f(T&)`; the other fields are those
  /// of the key's first record. Emits as reduce() does.
  template <class Field>
  DataStream<T> sum(Field field, Emit emit = Emit::updates) const {
    auto batch = make_batch_sum(selector_, field);
    const uint32_t index = add("sum", make_sum_factory(selector_, std::move(field), emit));
    builder_->set_batch(index, std::move(batch));
    return DataStream<T>(*builder_, {StreamEnd{.from = index}});
  }

  /// A KeyedProcessFunction<K, T, U>; gives a DataStream<U>. Each subtask has a copy of it.
  template <class Function>
  auto process(Function function) const {
    using U = decltype(api_detail::process_output<K, T>(function));
    const uint32_t index =
        add("process", make_function_factory<KeyedProcessOperator<K, T, U, Function>>(
                           KeyedProcess<K, T, Function>{selector_, std::move(function)}));
    return DataStream<U>(*builder_, {StreamEnd{.from = index}});
  }

 private:
  uint32_t add(std::string name, std::shared_ptr<const OperatorFactory> factory) const {
    LogicalOperator logical;
    logical.name = std::move(name);
    logical.keyed = true;
    const uint32_t index = builder_->add(std::move(logical), std::move(factory));
    builder_->connect(ends_, index, 0, std::make_shared<KeyedEdge<K, T>>(selector_));
    return index;
  }

  GraphBuilder* builder_;
  std::vector<StreamEnd> ends_;
  std::shared_ptr<const KeySelector<K, T>> selector_;
};

}  // namespace freshet
