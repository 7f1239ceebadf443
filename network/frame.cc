#include "network/frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace freshet {

static_assert(std::endian::native == std::endian::little);

namespace {

template <class T>
void put(char*& out, T value) {
  std::memcpy(out, &value, sizeof(T));
  out += sizeof(T);
}

template <class T>
void get(const char*& in, T& value) {
  std::memcpy(&value, in, sizeof(T));
  in += sizeof(T);
}

}  // namespace

std::string_view to_string(FrameKind kind) {
  switch (kind) {
    case FrameKind::kData:
      return "data";
    case FrameKind::kEvent:
      return "event";
    case FrameKind::kAttach:
      return "attach";
    case FrameKind::kAttachReply:
      return "attach_reply";
    case FrameKind::kCredit:
      return "credit";
    case FrameKind::kDetach:
      return "detach";
    case FrameKind::kProducersEnded:
      return "producers_ended";
    case FrameKind::kHello:
      return "hello";
    case FrameKind::kBacklog:
      return "backlog";
    case FrameKind::kCreditBack:
      return "credit_back";
    case FrameKind::kChallenge:
      return "challenge";
    case FrameKind::kProof:
      return "proof";
    case FrameKind::kRefusal:
      return "refusal";
  }
  return "unknown";
}

void FrameHeader::encode_to(char* out) const {
  put(out, payload_bytes);
  put(out, static_cast<uint8_t>(kind));
  put(out, flags);
  put(out, block_class);
  put(out, attachment);
  put(out, producer);
  put(out, producer_attempt);
  put(out, elements_started);
  put(out, first_element);
  put(out, hash);
  put(out, gate);
}

namespace {

Status check_size(uint32_t payload_bytes, uint32_t payload_bytes_max) {
  if (payload_bytes <= payload_bytes_max) return Status();
  return data_loss(fmt::format("a frame with a payload of {} bytes; at most {} are allowed",
                               payload_bytes, payload_bytes_max));
}

Status check_opening(const FrameHeader& header, FrameKind wanted) {
  if (header.kind != wanted) {
    return data_loss(fmt::format("a stream that begins with {} instead of {}",
                                 to_string(header.kind), to_string(wanted)));
  }
  return check_size(header.payload_bytes, kHelloBytesMax);
}

}  // namespace

Result<FrameHeader> FrameHeader::decode(std::string_view bytes) {
  if (bytes.size() < kFrameHeaderBytes) {
    return data_loss(
        fmt::format("a frame header of {} bytes instead of {}", bytes.size(), kFrameHeaderBytes));
  }
  FrameHeader header;
  uint8_t kind = 0;
  const char* in = bytes.data();
  get(in, header.payload_bytes);
  get(in, kind);
  get(in, header.flags);
  get(in, header.block_class);
  get(in, header.attachment);
  get(in, header.producer);
  get(in, header.producer_attempt);
  get(in, header.elements_started);
  get(in, header.first_element);
  get(in, header.hash);
  get(in, header.gate);
  if (Status size = check_size(header.payload_bytes, kFramePayloadBytesMax); !size.ok())
    return size;
  if (kind < static_cast<uint8_t>(FrameKind::kData) ||
      kind > static_cast<uint8_t>(FrameKind::kRefusal)) {
    return data_loss(fmt::format("a frame of unknown kind {}", kind));
  }
  if ((header.flags & ~kFrameFlagsKnown) != 0) {
    return data_loss(fmt::format("a frame with unknown flags {:#x}", header.flags));
  }
  header.kind = static_cast<FrameKind>(kind);
  return header;
}

/// Garbage shows in its first bytes: what is too short to be a header must not keep a connection.
Status FrameReader::check_start(std::string_view part) const {
  uint32_t payload_bytes = 0;
  if (part.size() < sizeof(payload_bytes)) return Status();
  const char* in = part.data();
  get(in, payload_bytes);
  return check_size(payload_bytes, opened_ ? kFramePayloadBytesMax : kHelloBytesMax);
}

bool FrameReader::next_header(std::string_view& rest) {
  if (!failure_.ok()) return false;
  if (has_header_) return true;
  std::string_view whole;
  if (kept_.empty() && rest.size() >= kFrameHeaderBytes) {
    whole = rest.substr(0, kFrameHeaderBytes);
    rest.remove_prefix(kFrameHeaderBytes);
  } else {
    const size_t taken = std::min(rest.size(), kFrameHeaderBytes - kept_.size());
    kept_.append(rest.substr(0, taken));
    rest.remove_prefix(taken);
    if (kept_.size() < kFrameHeaderBytes) {
      failure_ = check_start(kept_);
      return false;
    }
    whole = kept_;
  }
  Result<FrameHeader> decoded = FrameHeader::decode(whole);
  if (!decoded.ok()) {
    failure_ = decoded.status();
    return false;
  }
  if (!opened_) failure_ = check_opening(*decoded, opening_);
  if (!failure_.ok()) return false;
  header_ = *decoded;
  has_header_ = true;
  kept_.clear();
  return true;
}

bool FrameReader::wants_place(size_t available) {
  if (asked_for_place_ || !kept_.empty()) return false;
  asked_for_place_ = header_.payload_bytes >= available + kFramePlacedBytesMin;
  return asked_for_place_;
}

bool FrameReader::next_payload(std::string_view& rest, std::string_view& payload) {
  const size_t size = header_.payload_bytes;
  if (place_ == nullptr && kept_.empty() && rest.size() >= size) {
    payload = rest.substr(0, size);
    rest.remove_prefix(size);
    return true;
  }
  const size_t taken = std::min(rest.size(), size - (place_ != nullptr ? placed_ : kept_.size()));
  if (place_ == nullptr) {
    if (kept_.empty()) kept_.reserve(size);
    kept_.append(rest.substr(0, taken));
    payload = kept_;
  } else {
    if (rest.data() != place_ + placed_) std::memcpy(place_ + placed_, rest.data(), taken);
    placed_ += taken;
    payload = {place_, placed_};
  }
  rest.remove_prefix(taken);
  return payload.size() == size;
}

std::span<char> FrameReader::next_place() const {
  if (place_ == nullptr || !failure_.ok()) return {};
  const size_t missing = header_.payload_bytes - placed_;
  if (missing < kFramePlacedBytesMin) return {};
  return {place_ + placed_, missing};
}

void FrameReader::release_payload() {
  if (next_opening_) {
    opening_ = *next_opening_;
    next_opening_.reset();
  } else {
    opened_ = true;
  }
  has_header_ = false;
  asked_for_place_ = false;
  place_ = nullptr;
  placed_ = 0;
  kept_.clear();
}

}  // namespace freshet
