#pragma once

#include "runtime/base/ids.h"
#include "runtime/metrics/numbers.h"

namespace freshet {

namespace proto {
class TaskGauges;
class TaskManagerStatus;
class TaskProgress;
}  // namespace proto

void to_proto(const AttemptId&, const TaskNumbers&, proto::TaskProgress*);
void to_proto(const TaskGauges&, proto::TaskGauges*);
void to_proto(const TaskManagerNumbers&, proto::TaskManagerStatus*);

}  // namespace freshet
