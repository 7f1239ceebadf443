#pragma once

#include <functional>
#include <string_view>

#include "runtime/base/crash_report.h"

namespace freshet {

/// From now on a signal that ends the process for a fault of its code (SIGSEGV, SIGBUS, SIGFPE,
/// SIGILL, SIGABRT, also by CHECK and by an exception that nobody catches) is reported before: raw
/// to standard error, then with names to the listener and to the log. The process ends by that
/// signal after five seconds at the latest, or by SIGALRM after ten when not even that can be done.
/// Once, before other threads.
void install_crash_handler();

/// Called with the report on a thread of its own, while the one that crashed stands still with
/// whatever locks it holds; another call may not come. Null: nobody. Does not return while the
/// former listener is being called.
void set_crash_listener(std::function<void(const CrashReport&)> listener);

bool has_crash_listener();

/// For the end of a program: returns unless a thread has crashed; then the process ends by its
/// signal, once that is reported, and not as if all had gone well.
void stay_if_crashed();

/// What abort() is about to be called for. The text is copied.
void note_abort_reason(std::string_view reason);

/// For each thread that may run code of users, at its begin: gives it its name and a stack on which
/// the overflow of its own is reported.
void begin_thread(std::string_view name);

}  // namespace freshet
