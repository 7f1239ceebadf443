#pragma once

#include "runtime/base/crash_report.h"

namespace freshet {

namespace proto {
class TaskManagerCrashes;
}

void to_proto(const CrashReport&, proto::TaskManagerCrashes*);

}  // namespace freshet
