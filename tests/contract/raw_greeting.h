#pragma once

#include <string>

#include "network/frame.h"
#include "runtime/base/random.h"
#include "runtime/base/secret_handshake.h"
#include "shuffle/data_messages.h"
#include "tests/contract/raw_socket.h"

namespace freshet {

/// Introduces a socket that knows the secret to the producer that it is connected to. Its proof is
/// not read.
inline void greet_as_consumer(RawSocket& socket, TaskManagerId self, const std::string& secret) {
  const auto random = make_system_random();
  SecretHandshake handshake({HandshakeSide::kConnecting, secret, "", ""}, *random);
  std::string hello;
  append_hello({self, handshake.nonce()}, &hello);
  socket.say(hello);
  FrameReader frames{FrameOpening::kAny};
  std::string proof;
  while (proof.empty()) {
    const std::string heard = socket.hear();
    ASSERT_FALSE(heard.empty());
    const Status read = frames.on_bytes(heard, [&](const FrameHeader&, std::string_view challenge) {
      const Status met = handshake.meet(challenge, to_string(self));
      if (met.ok()) append_proof(handshake.proof(), &proof);
      return met;
    });
    ASSERT_TRUE(read.ok()) << read.to_string();
  }
  socket.say(proof);
}

/// A producer that knows the secret, as the one who connects to it sees it.
class RawProducerGreeting {
 public:
  explicit RawProducerGreeting(const std::string& secret)
      : handshake_({HandshakeSide::kAccepting, secret, "", ""}, *make_system_random()) {}

  /// Answers what belongs to the greeting.
  Status on_frame(RawSocket& socket, const FrameHeader& header, std::string_view payload) {
    std::string answer;
    if (header.kind == FrameKind::kHello) {
      ASSIGN_OR_RETURN(const Hello hello, decode_hello(payload));
      RETURN_IF_ERROR(handshake_.meet(hello.nonce, to_string(hello.task_manager)));
      append_challenge(handshake_.nonce(), &answer);
    } else if (header.kind == FrameKind::kProof) {
      RETURN_IF_ERROR(handshake_.check(payload));
      append_proof(handshake_.proof(), &answer);
    }
    if (!answer.empty()) socket.say(answer);
    return Status();
  }

 private:
  SecretHandshake handshake_;
};

}  // namespace freshet
