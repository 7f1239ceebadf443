#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/status.h"

namespace freshet {

// What two TaskManagers say to each other on their data connection, integers little-endian:
//
//   stream := frame*
//   frame  := header payload
//   header := u32 payload_bytes      at most kFramePayloadBytesMax
//             u8  kind               FrameKind
//             u8  flags              kFrame... bits, no others
//             u16 block_class        size charged against credit, in units of 1024 bytes
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
inline constexpr uint32_t kFrameCreditUnitBytes = 1024;

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
  kCreditBack = 10,
  kChallenge = 11,
  kProof = 12,
  kRefusal = 13,
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

/// What the first frame of a stream may be. A stranger must say who it is before anything of it is
/// worth memory; whom we called is none.
enum class FrameOpening : uint8_t { kHello, kAny };
inline constexpr uint32_t kHelloBytesMax = 16u << 10;

/// A cut payload of which this much is missing may be read into a place of its own.
inline constexpr size_t kFramePlacedBytesMin = 2u << 10;

/// Finds the frames in a stream of bytes that arrives cut anywhere. After an error every call gives
/// that error.
class FrameReader {
 public:
  explicit FrameReader(FrameOpening opening = FrameOpening::kHello)
      : opened_(opening == FrameOpening::kAny) {}

  /// Gives each frame that `bytes` completes to `sink(const FrameHeader&, std::string_view payload)
  /// -> Status`. The payload is contiguous and valid during the call only; it is copied only when
  /// it was cut. Stops at the first error.
  template <class Sink>
  Status on_bytes(std::string_view bytes, Sink&& sink) {
    return on_bytes(bytes, sink, [](const FrameHeader&) -> char* { return nullptr; });
  }

  /// The same, with a place for payloads that are cut early: `place(const FrameHeader&) -> char*`
  /// gives memory for all of such a payload, until `sink` has it there, or null. Called at most
  /// once for a frame. What was read to next_place() is not copied.
  template <class Sink, class Place>
  Status on_bytes(std::string_view bytes, Sink&& sink, Place&& place) {
    std::string_view payload;
    while (next_header(bytes)) {
      if (wants_place(bytes.size())) place_ = place(std::as_const(header_));
      if (!next_payload(bytes, payload)) break;
      if (Status status = sink(std::as_const(header_), payload); !status.ok()) failure_ = status;
      release_payload();
    }
    return failure_;
  }

  /// From the sink of an opening: the next frame must be one, too, and of this kind.
  void open_again_with(FrameKind kind) { next_opening_ = kind; }

  /// Where the rest of the payload under way belongs, when there is a place and much is missing.
  std::span<char> next_place() const;

  /// True between two frames: a stream may end here.
  bool at_boundary() const { return !has_header_ && kept_.empty(); }

 private:
  // Both take bytes from the front of `rest`. False when they need more of them, or it failed.
  bool next_header(std::string_view& rest);
  bool next_payload(std::string_view& rest, std::string_view& payload);
  Status check_start(std::string_view part) const;
  /// True once for a payload of which only `available` bytes came.
  bool wants_place(size_t available);
  void release_payload();

  bool opened_;                            // No opening, or it was read.
  FrameKind opening_ = FrameKind::kHello;  // What it must be.
  std::optional<FrameKind> next_opening_;
  bool has_header_ = false;
  bool asked_for_place_ = false;
  FrameHeader header_;  // Of the frame under way, once has_header_.
  std::string kept_;    // What came of a cut header, and afterwards of a payload without a place.
  char* place_ = nullptr;  // For the payload under way.
  size_t placed_ = 0;      // Bytes there.
  Status failure_;
};

}  // namespace freshet
