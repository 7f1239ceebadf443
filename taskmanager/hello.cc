#include "taskmanager/hello.h"

#include <utility>

#include "runtime/base/peer_version.h"
#include "runtime/base/version.h"
#include "runtime/proto/control.pb.h"
#include "taskmanager/deployment_message.h"

namespace freshet {

Greeting::Greeting(Options options, Random& random)
    : options_(std::move(options)),
      self_(options_.role == HelloRole::kClient ? "this client" : "this TaskManager"),
      handshake_({HandshakeSide::kConnecting, options_.secret, self_, peer()}, random) {}

std::string Greeting::hello() const {
  proto::Envelope envelope;
  proto::Hello* hello = envelope.mutable_hello();
  hello->set_role(static_cast<proto::Hello::Role>(options_.role));
  hello->set_protocol_version(kProtocolVersion);
  hello->set_library_version(options_.library_version);
  hello->set_nonce(handshake_.nonce());
  return envelope.SerializeAsString();
}

Result<std::string> Greeting::on_message(const proto::Envelope& envelope) {
  if (envelope.has_hello_reply()) {
    RETURN_IF_ERROR(on_reply(envelope.hello_reply()));
    return std::string();
  }
  if (!envelope.has_hello_challenge() || challenged_) return data_loss("no answer to the greeting");
  RETURN_IF_ERROR(handshake_.meet(envelope.hello_challenge().nonce(),
                                  std::to_string(static_cast<int>(options_.role))));
  if (!handshake_.has_secret()) return data_loss("an empty challenge");
  challenged_ = true;
  proto::Envelope answer;
  answer.mutable_hello_proof()->set_proof(handshake_.proof());
  return answer.SerializeAsString();
}

Status Greeting::on_reply(const proto::HelloReply& reply) {
  const Status same =
      check_same_version(peer(), {reply.library_version(), reply.protocol_version()}, self_,
                         {options_.library_version, kProtocolVersion});
  other_version_ = !same.ok();
  RETURN_IF_ERROR(same);
  refused_ = reply.status().code() != 0;
  RETURN_IF_ERROR(from_proto(reply.status()));
  if (handshake_.has_secret()) {
    if (!challenged_) return handshake_.meet("", "");
    RETURN_IF_ERROR(handshake_.check(reply.proof()));
  }
  epoch_ = reply.job_manager_epoch();
  done_ = true;
  return Status();
}

}  // namespace freshet
