#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "network/frame.h"
#include "runtime/base/ids.h"
#include "runtime/base/status.h"
#include "shuffle/channel_reader.h"

namespace freshet {

// Payloads of the frames that are neither data nor events, integers little-endian; the header's
// `attachment` names what they are about, where anything:
//
// clang-format off
//   hello           := u32 magic, u32 version, u64 TaskManagerId, u32 n, n bytes of nonce
//                      first frame of the consumer; no nonce without a secret
//   challenge       := nonce; the answer to a hello with one
//   proof           := proof of the consumer, and then of the producer; SecretHandshake says of
//                      what
//   refusal         := u32 code, u32 n, n bytes of message; the last frame of who does not let the
//                      other in
//   attach          := u64 u64 JobId, u32 dataset, u32 subpartition, u32 count of subpartitions,
//                      u32 vertex, u32 index, u32 attempt (of the consumer), u32 credit,
//                      u32 stored, u32 n, n * (u32 begin, u32 end, u32 attempt),
//                      u32 m, m * (u32 producer, u64 next element, u64 hash)
//   attach_reply    := u32 begin, u32 end, u32 code, u32 n, n bytes of message
//                      producers that are lost
//   credit          := n * (u32 attachment, u32 producer, u32 bytes)
//   producers_ended := n * (u32 begin, u32 end)
//   backlog         := n * (u32 attachment, u32 producer, u32 bytes)
//                      what waits in channels whose credit is used up
//   credit_back     := n * (u32 attachment, u32 producer, u32 bytes)
//                      beyond a channel's own, which it has no use for
//   detach          := nothing
// clang-format on
//
// hello, attach, credit and detach go to the producer, proofs both ways; the others, and all data,
// to the consumer.

inline constexpr uint32_t kDataMagic = 0x44525348;
inline constexpr uint32_t kDataVersion = 10;
inline constexpr uint32_t kCreditBytesMax = 1u << 20;    // Of a channel's own.
inline constexpr uint32_t kFloatingBytesMax = 1u << 20;  // That a channel gets beyond.

struct Hello {
  TaskManagerId task_manager;
  std::string nonce;
};

/// Bytes of one channel: credit that it gets or gives back, or backlog that it has.
struct ChannelBytes {
  uint32_t attachment = 0;
  uint32_t producer = 0;
  uint32_t bytes = 0;
  bool operator==(const ChannelBytes&) const = default;
};
using CreditReturn = ChannelBytes;
using Backlog = ChannelBytes;
using CreditBack = ChannelBytes;

struct Loss {
  ProducerSpan producers;
  Status cause;
};

/// Whole frames, appended to `out`.
void append_hello(const Hello& hello, std::string* out);
void append_challenge(const std::string& nonce, std::string* out);
void append_proof(const std::string& proof, std::string* out);
void append_refusal(const Status& cause, std::string* out);
Status append_attach(uint32_t attachment, const Attachment& wanted, std::string* out);
void append_attach_reply(uint32_t attachment, const Loss& loss, std::string* out);
void append_credit(const std::vector<CreditReturn>& credits, std::string* out);
void append_backlog(const std::vector<Backlog>& backlogs, std::string* out);
void append_credit_back(const std::vector<CreditBack>& credits, std::string* out);
void append_producers_ended(uint32_t attachment, const std::vector<ProducerSpan>& spans,
                            std::string* out);
void append_detach(uint32_t attachment, std::string* out);

/// Payloads. kDataLoss for everything that is not exactly one of them, ranges that do not rise
/// included.
Result<Hello> decode_hello(std::string_view payload);
/// The cause; kDataLoss, too, for what is no refusal.
Status decode_refusal(std::string_view payload);
Result<Attachment> decode_attach(std::string_view payload);
Result<Loss> decode_attach_reply(std::string_view payload);
Result<std::vector<CreditReturn>> decode_credit(std::string_view payload);
Result<std::vector<Backlog>> decode_backlog(std::string_view payload);
Result<std::vector<CreditBack>> decode_credit_back(std::string_view payload);
Result<std::vector<ProducerSpan>> decode_producers_ended(std::string_view payload);

}  // namespace freshet
