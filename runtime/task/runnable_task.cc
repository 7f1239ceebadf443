#include "runtime/task/runnable_task.h"

#include "runtime/base/check.h"

namespace freshet {

bool RunState::wake() {
  State state = state_.load();
  while (true) {
    if (state == State::kIdle) {
      if (state_.compare_exchange_weak(state, State::kQueued)) return true;
    } else if (state == State::kRunning) {
      if (state_.compare_exchange_weak(state, State::kRunningWoken)) return false;
    } else {
      return false;
    }
  }
}

bool RunState::begin_step() {
  State state = State::kQueued;
  if (state_.compare_exchange_strong(state, State::kRunning)) return true;
  CHECK(state == State::kOut);
  return false;
}

bool RunState::end_step(StepResult result) {
  State state = state_.load();
  while (true) {
    CHECK(state == State::kRunning || state == State::kRunningWoken ||
          state == State::kRunningRemoved);
    State next = State::kQueued;
    if (result == StepResult::kFinished || state == State::kRunningRemoved) {
      next = State::kOut;
    } else if (result == StepResult::kIdle && state == State::kRunning) {
      next = State::kIdle;
    }
    if (state_.compare_exchange_weak(state, next)) return next == State::kQueued;
  }
}

void RunState::remove() {
  State state = state_.load();
  while (true) {
    const bool running = state == State::kRunning || state == State::kRunningWoken ||
                         state == State::kRunningRemoved;
    if (state_.compare_exchange_weak(state, running ? State::kRunningRemoved : State::kOut)) return;
  }
}

}  // namespace freshet
