#include "taskmanager/crash_message.h"

#include "runtime/proto/control.pb.h"
#include "taskmanager/deployment_message.h"

namespace freshet {

void to_proto(const CrashReport& crash, proto::TaskManagerCrashes* message) {
  message->set_reason(crash.reason);
  message->set_thread(crash.thread);
  if (crash.job) to_proto(*crash.job, message->mutable_job());
  if (crash.attempt) to_proto(*crash.attempt, message->mutable_attempt());
  message->set_code_name(crash.code_name);
  if (crash.position) message->set_position(*crash.position);
  message->set_provoked(crash.provoked);
  for (const std::string& frame : crash.frames) message->add_frames(frame);
  message->set_culprit(crash.culprit);
}

}  // namespace freshet
