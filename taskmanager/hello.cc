#include "taskmanager/hello.h"

#include "runtime/base/version.h"
#include "runtime/proto/control.pb.h"

namespace freshet {

namespace {}

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

}  // namespace freshet
