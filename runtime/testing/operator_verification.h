#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/codec.h"
#include "runtime/base/record_layout.h"
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
  void receive_batch(RecordBatch& batch) override { to_.process_batch(0, batch); }

 private:
  Operator& to_;
};

/// The records as they lie in a buffer, with their timestamps.
template <class In>
std::string run_of(const std::vector<In>& inputs, EpochMillis timestamp) {
  std::string bytes;
  for (const In& record : inputs) {
    Encoder encoder;
    Codec<In>::encode(record, encoder);
    char header[kRecordHeaderBytesMax];
    std::memcpy(header, &timestamp, kTimestampBytes);
    char* end = header + kTimestampBytes;
    if (Codec<In>::kFixedSize == 0) end = put_varint(end, encoder.bytes().size());
    bytes.append(header, end);
    bytes += encoder.bytes();
  }
  return bytes;
}

/// Feeds all records from one buffer, so that they come in batches.
template <class In, class Out>
void feed_run(const std::vector<In>& inputs, EpochMillis timestamp, OperatorHarness<Out>& to) {
  FeedOperator<Out> feed(to.operator_under_test());
  const auto reader = TypedEdge<In>().make_reader();
  const std::string bytes = run_of(inputs, timestamp);
  const bool stop = false;
  RecordRun run({Codec<In>::kFixedSize, true}, bytes, UINT32_MAX, &stop);
  reader->read_run(run, feed);
  CHECK(run.bytes() == bytes.size());
}

}  // namespace verification_detail

/// Runs an operator with one input and one output over `inputs` in several ways that must make no
/// difference, and returns what it emits, or kFailedPrecondition that says which way did: alone;
/// two of them side by side, element by element (nothing is shared); in batches, as records come
/// from a buffer; with records that were encoded and decoded into one reused value, each output
/// encoded at once (nothing is kept by pointer).
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

  OperatorHarness<Out> in_batches(factory);
  feed_run(inputs, 7, in_batches);
  if (end_and_encode(in_batches) != expected)
    return failed_precondition("records in batches give something else");

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
