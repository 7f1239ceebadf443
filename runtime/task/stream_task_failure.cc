// How a task fails: whose fault it was, and with which element.
#include <unistd.h>

#include <csignal>
#include <stdexcept>

#include "runtime/task/stream_task.h"

namespace freshet {

namespace {

constexpr size_t kExceptionTextMax = 4096;  // It is logged and shown at each restart.

/// The name of the operator of `vertex` whose output `dataset` is.
const std::string& emitter_of(const JobVertex& vertex, DatasetId dataset) {
  for (const ChainedOperator& chained : vertex.operators) {
    for (const ChainedOutput& output : chained.outputs) {
      if (!output.chained && output.dataset == dataset) return chained.name;
    }
  }
  return vertex.operators.back().name;
}

}  // namespace

std::string StreamTask::failed_operator() const {
  const std::string* const name = running_.name.load(std::memory_order_relaxed);
  return name != nullptr ? *name : vertex_.operators.front().name;
}

std::string StreamTask::failed_element() const {
  if (!element_) {
    return polling_ ? ", record " + std::to_string(chain_->source_records()) + " of its source"
                    : "";
  }
  const Input& input = inputs_[element_->input];
  const uint64_t next = position_of(input.gate->positions(), element_->producer).elements;
  const JobGraph& graph = *options_.graph;
  const JobEdge& edge = graph.edges[graph.inputs_of(vertex_.id)[element_->input].value];
  return ", element " + std::to_string(next - 1 - input.reader->read_ahead()) + " of producer " +
         std::to_string(element_->producer) + " of input " + std::to_string(element_->input) +
         " ('" + emitter_of(graph.vertices[edge.producer.value], edge.id) + "')";
}

void StreamTask::fail_by_user(std::string what) {
  if (fail_by_output()) return;
  if (what.size() > kExceptionTextMax) {
    const size_t left_out = what.size() - kExceptionTextMax;
    what = what.substr(0, kExceptionTextMax) + " ... and " + std::to_string(left_out) + " bytes";
  }
  // No operator threw: then the element did not get to one.
  const bool decoding = element_ && running_.name.load(std::memory_order_relaxed) == nullptr;
  const std::string operator_name = failed_operator();
  fail(user_error("operator '" + operator_name + "'" + failed_element() +
                  (decoding ? ": cannot be decoded: " : ": exception: ") + what),
       operator_name);
}

bool StreamTask::fail_by_output() {
  for (size_t i = 0; i < outputs_.size(); i++) {
    if (!outputs_[i].writer) continue;
    const Status& status = outputs_[i].partition->status().ok() ? outputs_[i].writer->status()
                                                                : outputs_[i].partition->status();
    if (status.ok()) continue;
    const JobGraph& graph = *options_.graph;
    const JobEdge& edge = graph.edges[graph.outputs_of(vertex_.id)[i].value];
    const std::string operator_name = emitter_of(vertex_, edge.id);
    fail(Status(status.code(), "operator '" + operator_name + "'" + failed_element() +
                                   ", output to '" +
                                   graph.vertices[edge.consumer.value].operators.front().name +
                                   "': " + status.message()),
         operator_name);
    return true;
  }
  return false;
}

void StreamTask::fail(Status cause, std::string operator_name) {
  if ((mail_.load() & kCancel) != 0) {  // That is why, or nobody wants to know.
    take_mail();
    return;
  }
  TaskStateChange change;
  change.cause = std::move(cause);
  change.operator_name = std::move(operator_name);
  release();
  move_to(TaskState::kFailed, std::move(change));
}

/// Throws, crashes or does not return, as an operator would.
void StreamTask::fail_as_provoked(ProvokedFailure failure) {
  running_.name.store(&vertex_.operators.front().name, std::memory_order_relaxed);
  running_.provoked.store(true, std::memory_order_relaxed);
  switch (failure) {
    case ProvokedFailure::kException:
      throw std::runtime_error("asked for by 'freshet fail'");
    case ProvokedFailure::kHang:
      while (true) (void)pause();
    case ProvokedFailure::kCrash:
      (void)std::raise(SIGSEGV);
      return;
  }
}

}  // namespace freshet
