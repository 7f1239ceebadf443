#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/codec.h"
#include "runtime/base/status.h"
#include "runtime/operators/typed_edge.h"
#include "runtime/testing/operator_harness.h"

namespace freshet::testing {

namespace verification_detail {

template <class Out>
std::string encode_entry(const typename CollectedOutput<Out>::Entry& entry) {
  Encoder encoder;
  encoder.write_fixed(entry.timestamp);
  Codec<Out>::encode(entry.record, encoder);
  return std::string(encoder.bytes());
}

/// Everything that one run emitted, encoded.
template <class Out>
std::vector<std::string> end_and_encode(OperatorHarness<Out>& harness) {
  harness.end();
  std::vector<std::string> bytes;
  for (const auto& entry : harness.take_entries()) bytes.push_back(encode_entry<Out>(entry));
  return bytes;
}

/// Calls an operator with each record that a reader decodes.
template <class Out>
class FeedOperator final : public RecordReceiver {
 public:
  explicit FeedOperator(Operator& to) : to_(to) {}
  void receive(const void* record, EpochMillis timestamp) override {
    to_.process(0, record, timestamp);
  }

 private:
  Operator& to_;
};

}  // namespace verification_detail

/// Runs an operator with one input and one output over `inputs` in several ways that must make no
/// difference, and returns what it emits, or kFailedPrecondition that says which way did: alone;
/// two of them side by side, element by element (nothing is shared); with records that were encoded
/// and decoded into one reused value, each output encoded at once (nothing is kept by pointer).
template <class In, class Out>
Result<std::vector<Out>> verify_operator(const OperatorFactory& factory,
                                         const std::vector<In>& inputs) {
  using namespace verification_detail;
  OperatorHarness<Out> alone(factory);
  for (const In& record : inputs) alone.process(record, 7);
  alone.end();
  std::vector<std::string> expected;
  std::vector<Out> outputs;
  for (auto& entry : alone.take_entries()) {
    expected.push_back(encode_entry<Out>(entry));
    outputs.push_back(std::move(entry.record));
  }

  OperatorHarness<Out> first(factory), second(factory);
  for (const In& record : inputs) {
    first.process(record, 7);
    second.process(record, 7);
  }
  if (end_and_encode(first) != expected || end_and_encode(second) != expected) {
    return failed_precondition("two operators side by side emit something else than one alone");
  }

  OperatorHarness<Out> encoded(factory);
  FeedOperator<Out> feed(encoded.operator_under_test());
  const auto reader = TypedEdge<In>().make_reader();
  std::vector<std::string> bytes;
  const auto drain = [&] {
    for (const auto& entry : encoded.take_entries()) bytes.push_back(encode_entry<Out>(entry));
  };
  for (const In& record : inputs) {
    Encoder encoder;
    Codec<In>::encode(record, encoder);
    reader->read(encoder.bytes(), 7, feed);
    drain();
  }
  encoded.end_input();
  while (!encoded.finish_some()) drain();
  drain();
  if (bytes != expected) {
    return failed_precondition("records that were encoded and decoded give something else");
  }
  return outputs;
}

}  // namespace freshet::testing
