#include "runtime/base/running_code.h"

#include <utility>

namespace freshet {

namespace {
thread_local const RunningCode* of_this_thread = nullptr;
}

const RunningCode* running_code() { return of_this_thread; }

RunningCodeScope::RunningCodeScope(const RunningCode* code)
    : before_(std::exchange(of_this_thread, code)) {}

RunningCodeScope::~RunningCodeScope() { of_this_thread = before_; }

}  // namespace freshet
