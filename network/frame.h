#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/status.h"

namespace freshet {

// What two TaskManagers say to each other on their data connection, integers little-endian:
//
//   stream := frame*
//   frame  := header payload
//   header := u32 payload_bytes      at most kFramePayloadBytesMax
//             u8  kind               FrameKind
//             u8  flags              kFrame... bits, no others
//             u16 block_class        size charged against credit, in units of 512 bytes
//             u32 attachment         id given by the consumer; names gate and producing TaskManager
//             u32 producer           subtask index of the producer in its dataset
//             u32 producer_attempt
//             u32 elements_started   in this payload
//             u64 first_element      number of the first element that starts in this payload
//             u32 hash               low half of the rolling hash after the last complete element
//             u32 gate               low half of the producer's log position when the payload was
//             closed
//
// Kinds other than data and event leave unused fields zero and describe themselves in their
// payload.

inline constexpr size_t kFrameHeaderBytes = 40;
inline constexpr uint32_t kFramePayloadBytesMax = 1u << 20;
inline constexpr uint32_t kFrameCreditUnitBytes = 512;

enum class FrameKind : uint8_t {
  kData = 1,
  kEvent = 2,
  kAttach = 3,
  kAttachReply = 4,
  kCredit = 5,
  kDetach = 6,
  kProducersEnded = 7,
  kHello = 8,
  kBacklog = 9,
};

/// `data`, `attach_reply`, ...
std::string_view to_string(FrameKind);

inline constexpr uint8_t kFrameStartsWithTail =
    1;  // The payload starts inside an element begun before.
inline constexpr uint8_t kFrameEndsIncomplete =
    2;  // The last element of the payload goes on in the next.
inline constexpr uint8_t kFrameHasTimestamps = 4;  // Elements carry timestamps.
inline constexpr uint8_t kFrameMoreFollows = 8;    // More data waits behind this.
inline constexpr uint8_t kFrameFlagsKnown = 15;

/// The fixed part of a frame; the grammar above gives the meaning of its fields.
struct FrameHeader {
  uint32_t payload_bytes = 0;
  FrameKind kind = FrameKind::kData;
  uint8_t flags = 0;
  uint16_t block_class = 0;
  uint32_t attachment = 0;
  uint32_t producer = 0;
  uint32_t producer_attempt = 0;
  uint32_t elements_started = 0;
  uint64_t first_element = 0;
  uint32_t hash = 0;
  uint32_t gate = 0;

  bool operator==(const FrameHeader&) const = default;

  /// Writes kFrameHeaderBytes bytes to `out`.
  void encode_to(char* out) const;

  /// kDataLoss when there are fewer than kFrameHeaderBytes bytes, or kind, size or flags are none
  /// of ours.
  static Result<FrameHeader> decode(std::string_view bytes);
};

/// Finds the frames in a stream of bytes that arrives cut anywhere. After an error every call gives
/// that error.
class FrameReader {
 public:
  /// Gives each frame that `bytes` completes to `sink(const FrameHeader&, std::string_view payload)
  /// -> Status`. The payload is contiguous and valid during the call only; it is copied only when
  /// it was cut. Stops at the first error.
  template <class Sink>
  Status on_bytes(std::string_view bytes, Sink&& sink) {
    FrameHeader header;
    std::string_view payload;
    while (next(bytes, header, payload)) {
      if (Status status = sink(header, payload); !status.ok()) failure_ = status;
      release_payload();
      if (!failure_.ok()) break;
    }
    return failure_;
  }

  /// True between two frames: a stream may end here.
  bool at_boundary() const { return !has_header_ && kept_.empty(); }

 private:
  /// Takes bytes from the front of `rest`. False when it needs more of them, or failed.
  bool next(std::string_view& rest, FrameHeader& header, std::string_view& payload);
  bool complete_header(std::string_view& rest);
  void release_payload();

  bool has_header_ = false;
  FrameHeader header_;  // Of the frame under way, once has_header_.
  std::string kept_;    // What came of a cut header, and afterwards of a cut payload.
  Status failure_;
};

}  // namespace freshet
