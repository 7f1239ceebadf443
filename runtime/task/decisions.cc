#include "runtime/task/decisions.h"

#include <algorithm>

namespace freshet {

std::optional<Decision> LiveDecisions::next_element(const std::vector<InputGate*>& gates) {
  const size_t count = gates.size();
  for (size_t i = 0; i < count; i++) {
    size_t index = turn_ + i;
    if (index >= count) index -= count;
    InputGate* gate = gates[index];
    if (gate == nullptr) continue;
    if (const auto producer = gate->next_ready()) {
      turn_ = index + 1 == count ? 0 : index + 1;
      return logged({DecisionKind::kElement, static_cast<uint32_t>(index), *producer, 0, {}});
    }
    if (gate->ended())
      return logged({DecisionKind::kEndInput, static_cast<uint32_t>(index), 0, 0, {}});
  }
  return std::nullopt;
}

std::optional<Decision> LiveDecisions::next(const Offers& offers) {
  if (offers.finish) return logged({DecisionKind::kFinish, 0, 0, 0, {}});
  const bool poll = may_poll(offers);
  const bool poll_first = poll && !(polled_last_ && offers.elements);
  if (!poll_first && offers.elements) {
    if (auto element = next_element(*offers.gates)) {
      polled_last_ = false;
      return element;
    }
  }
  if (!poll) return std::nullopt;
  polled_last_ = true;
  return logged({DecisionKind::kPoll, 0, 0, offers.poll_records, {}});
}

void LiveDecisions::tick() {
  const EpochMillis now = clock_.epoch_millis();
  if (now == processing_time_) return;
  logged({DecisionKind::kClock, 0, 0, static_cast<uint64_t>(now), {}});
  processing_time_ = now;
}

uint64_t LiveDecisions::random() {
  return logged({DecisionKind::kRandom, 0, 0, random_->next(), {}}).value;
}

std::string LiveDecisions::external(const std::function<std::string()>& ask) {
  std::string answer = ask();
  logged({DecisionKind::kExternal, 0, 0, 0, answer});
  return answer;
}

void ReplayingDecisions::tick() {
  while (log_.peek() && log_.peek()->kind == DecisionKind::kClock) {
    processing_time_ = static_cast<EpochMillis>(log_.peek()->value);
    log_.pop();
  }
}

bool ReplayingDecisions::possible(const Decision& decision, const Offers& offers) {
  switch (decision.kind) {
    case DecisionKind::kPoll:
      if (may_poll(offers)) return true;
      break;
    case DecisionKind::kFinish:
      if (offers.finish) return true;
      break;
    case DecisionKind::kElement:
    case DecisionKind::kEndInput: {
      if (!offers.elements || decision.input >= offers.gates->size()) break;
      InputGate* gate = (*offers.gates)[decision.input];
      if (gate == nullptr) break;
      if (decision.kind == DecisionKind::kEndInput) return gate->ended();
      gate->ready(&ready_);
      return std::find(ready_.begin(), ready_.end(), decision.producer) != ready_.end();
    }
    default:
      break;
  }
  diverged_ = data_loss("the next recorded decision is '" + std::string(to_string(decision.kind)) +
                        "', which the task cannot follow");
  return false;
}

std::optional<Decision> ReplayingDecisions::next(const Offers& offers) {
  if (!status().ok()) return std::nullopt;
  tick();
  const std::optional<Decision> decision = log_.peek();
  if (!decision || !possible(*decision, offers)) return std::nullopt;
  log_.pop();
  return decision;
}

std::optional<Decision> ReplayingDecisions::expect(DecisionKind kind) {
  std::optional<Decision> decision = log_.peek();
  if (diverged_.ok() && decision && decision->kind == kind) {
    log_.pop();
    return decision;
  }
  if (diverged_.ok()) {
    diverged_ = data_loss("the task asks for a decision of kind '" + std::string(to_string(kind)) +
                          "', the log has '" +
                          std::string(decision ? to_string(decision->kind) : "nothing") + "'");
  }
  return std::nullopt;
}

uint64_t ReplayingDecisions::random() {
  const auto decision = expect(DecisionKind::kRandom);
  return decision ? decision->value : 0;
}

std::string ReplayingDecisions::external(const std::function<std::string()>&) {
  const auto decision = expect(DecisionKind::kExternal);
  return decision ? std::string(decision->bytes) : std::string();
}

bool ReplayingDecisions::only_last_left() const {
  DecisionLogReader rest = log_;
  if (rest.peek()) rest.pop();
  return !rest.peek().has_value();
}

Status ReplayingDecisions::status() const { return diverged_.ok() ? log_.status() : diverged_; }

}  // namespace freshet
