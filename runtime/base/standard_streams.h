#pragma once

#include "runtime/base/status.h"

namespace freshet {

/// Gives closed standard streams something that refuses every use, so that no file or connection
/// that is opened later becomes standard output. At the start of a process.
void occupy_closed_standard_streams();

/// Writes out what standard output still holds. Says whether all that the process ever wrote there
/// has been taken.
Status flush_standard_output();

/// From now on what is written to standard output and error goes nowhere. Returns a descriptor of
/// what standard output was; -1 when there is none.
int silence_standard_streams();

/// From now on what is written to standard output goes to standard error. Returns a descriptor of
/// what standard output was; -1, and nothing changes, when there is none.
int keep_standard_output();

}  // namespace freshet
