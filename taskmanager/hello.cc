#include "taskmanager/hello.h"

#include "runtime/base/peer_version.h"
#include "runtime/base/version.h"
#include "runtime/proto/control.pb.h"

namespace freshet {

std::string hello_message(HelloRole role, const std::string& library_version,
                          const std::string& secret) {
  proto::Envelope envelope;
  proto::Hello* hello = envelope.mutable_hello();
  hello->set_role(role == HelloRole::kTaskManager ? proto::Hello::TASK_MANAGER
                                                  : proto::Hello::BLOB_CLIENT);
  hello->set_protocol_version(kProtocolVersion);
  hello->set_library_version(library_version);
  hello->set_secret(secret);
  return envelope.SerializeAsString();
}

Status check_version_of(const Address& job_manager, const proto::HelloReply& reply,
                        const std::string& library_version) {
  return check_same_version("the JobManager at " + job_manager.to_string(),
                            {reply.library_version(), reply.protocol_version()}, "this TaskManager",
                            {library_version, kProtocolVersion});
}

}  // namespace freshet
