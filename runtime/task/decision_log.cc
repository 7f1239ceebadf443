#include "runtime/task/decision_log.h"

#include <cstring>

#include "runtime/base/check.h"

namespace freshet {

namespace {

template <class T>
void put(std::string& to, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  to.append(bytes, sizeof(T));
}

bool has_count(DecisionKind kind) {
  return kind == DecisionKind::kElement || kind == DecisionKind::kPoll ||
         kind == DecisionKind::kFinish;
}

}  // namespace

std::string_view to_string(DecisionKind kind) {
  switch (kind) {
    case DecisionKind::kElement:
      return "element";
    case DecisionKind::kPoll:
      return "poll";
    case DecisionKind::kEndInput:
      return "end of input";
    case DecisionKind::kFinish:
      return "finish";
    case DecisionKind::kClock:
      return "clock";
    case DecisionKind::kRandom:
      return "random";
    case DecisionKind::kExternal:
      return "external";
  }
  return "unknown";
}

bool MemoryDecisionLog::extends_last(const Decision& decision) const {
  return count_at_ != 0 && decision.kind == last_.kind && decision.input == last_.input &&
         decision.producer == last_.producer && decision.value == last_.value;
}

void MemoryDecisionLog::append(const Decision& decision) {
  decisions_++;
  if (extends_last(decision)) {
    uint64_t times;
    std::memcpy(&times, bytes_.data() + count_at_, sizeof(times));
    times++;
    std::memcpy(bytes_.data() + count_at_, &times, sizeof(times));
    return;
  }
  bytes_.push_back(static_cast<char>(decision.kind));
  switch (decision.kind) {
    case DecisionKind::kElement:
      put(bytes_, decision.input);
      put(bytes_, decision.producer);
      break;
    case DecisionKind::kEndInput:
      put(bytes_, decision.input);
      break;
    case DecisionKind::kClock:
    case DecisionKind::kRandom:
      put(bytes_, decision.value);
      break;
    case DecisionKind::kExternal: {
      Encoder encoder;
      encoder.write_string(decision.bytes);
      bytes_.append(encoder.bytes());
      break;
    }
    case DecisionKind::kPoll:
      put(bytes_, static_cast<uint32_t>(decision.value));
      break;
    case DecisionKind::kFinish:
      break;
  }
  count_at_ = 0;
  if (has_count(decision.kind)) {
    count_at_ = bytes_.size();
    put(bytes_, uint64_t{1});
  }
  last_ = decision;
  last_.bytes = {};
}

DecisionLogReader::DecisionLogReader(std::string_view bytes) : decoder_(bytes) { read_entry(); }

void DecisionLogReader::pop() {
  CHECK(next_.has_value());
  if (--times_ == 0) read_entry();
}

void DecisionLogReader::read_entry() {
  next_.reset();
  if (decoder_.remaining() == 0) return;
  try {
    Decision decision;
    decision.kind = static_cast<DecisionKind>(decoder_.read_fixed<uint8_t>());
    times_ = 1;
    switch (decision.kind) {
      case DecisionKind::kElement:
        decision.input = decoder_.read_fixed<uint32_t>();
        decision.producer = decoder_.read_fixed<uint32_t>();
        break;
      case DecisionKind::kEndInput:
        decision.input = decoder_.read_fixed<uint32_t>();
        break;
      case DecisionKind::kClock:
      case DecisionKind::kRandom:
        decision.value = decoder_.read_fixed<uint64_t>();
        break;
      case DecisionKind::kExternal:
        decision.bytes = decoder_.read_string();
        break;
      case DecisionKind::kPoll:
        decision.value = decoder_.read_fixed<uint32_t>();
        break;
      case DecisionKind::kFinish:
        break;
      default:
        status_ = data_loss("the decision log has an entry of kind " +
                            std::to_string(static_cast<int>(decision.kind)) +
                            ", which this version does not know");
        return;
    }
    if (has_count(decision.kind)) times_ = decoder_.read_fixed<uint64_t>();
    if (times_ == 0) {
      status_ = data_loss("the decision log has an entry that never happened");
      return;
    }
    next_ = decision;
  } catch (const CodecError& error) {
    status_ = data_loss(std::string("the decision log is damaged: ") + error.what());
  }
}

}  // namespace freshet
