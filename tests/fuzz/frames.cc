#include <algorithm>
#include <vector>

#include "network/frame.h"
#include "runtime/base/check.h"
#include "shuffle/data_messages.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/targets.h"

namespace freshet::fuzz {

namespace {

struct Frame {
  FrameHeader header;
  std::string payload;
  bool operator==(const Frame&) const = default;
};

struct Outcome {
  std::vector<Frame> frames;
  StatusCode code = StatusCode::kOk;
  bool at_boundary = false;
};

/// As a connection reads: into the place of a payload where there is one.
Outcome read(std::string_view stream, FrameOpening opening, Cuts cuts) {
  FrameReader reader(opening);
  Outcome outcome;
  std::vector<char> place;
  Status status;
  while (!stream.empty() && status.ok()) {
    std::string_view piece = stream.substr(0, cuts.next(stream.size()));
    if (piece.empty()) piece = stream.substr(0, 1);
    if (const std::span<char> to = reader.next_place(); !to.empty()) {
      piece = piece.substr(0, to.size());
      std::copy(piece.begin(), piece.end(), to.begin());
      stream.remove_prefix(piece.size());
      piece = {to.data(), piece.size()};
    } else {
      stream.remove_prefix(piece.size());
    }
    // A copy without a byte more, so that AddressSanitizer sees one that is read too far.
    const std::vector<char> tight(piece.begin(), piece.end());
    const bool placed = !place.empty() && piece.data() >= place.data() &&
                        piece.data() < place.data() + place.size();
    status = reader.on_bytes(
        placed ? piece : std::string_view(tight.data(), tight.size()),
        [&](const FrameHeader& header, std::string_view payload) {
          CHECK(header.payload_bytes == payload.size());
          outcome.frames.push_back({header, std::string(payload)});
          return Status();
        },
        [&](const FrameHeader& header) {
          place.assign(header.payload_bytes, '\0');
          return place.data();
        });
  }
  outcome.code = status.code();
  outcome.at_boundary = reader.at_boundary();
  return outcome;
}

/// What was decoded says the same when it is encoded again.
template <class T, class Append>
void check_again(const Frame& frame, const Result<T>& decoded, Append append) {
  if (!decoded.ok()) {
    CHECK(decoded.status().code() == StatusCode::kDataLoss ||
          decoded.status().code() == StatusCode::kFailedPrecondition);
    CHECK(!decoded.status().message().empty());
    return;
  }
  std::string whole;
  append(*decoded, &whole);
  std::string payload;
  const Outcome again = read(whole, FrameOpening::kAny, Cuts(0));
  CHECK(again.code == StatusCode::kOk && again.at_boundary);
  for (const Frame& part : again.frames) {
    CHECK(part.header.kind == frame.header.kind);
    payload += part.payload;
  }
  CHECK(payload == frame.payload);
}

void check_message(const Frame& frame) {
  const std::string& payload = frame.payload;
  const uint32_t attachment = frame.header.attachment;
  switch (frame.header.kind) {
    case FrameKind::kHello:
      return check_again(frame, decode_hello(payload), append_hello);
    case FrameKind::kAttach:
      return check_again(frame, decode_attach(payload), [&](const Attachment& wanted, auto* out) {
        CHECK(append_attach(attachment, wanted, out).ok());
      });
    case FrameKind::kAttachReply: {
      const auto loss = decode_attach_reply(payload);
      if (loss.ok() && loss->cause.message().size() > 4096) return;  // Is cut when it is written.
      return check_again(frame, loss, [&](const Loss& one, auto* out) {
        append_attach_reply(attachment, one, out);
      });
    }
    case FrameKind::kCredit:
      return check_again(frame, decode_credit(payload), append_credit);
    case FrameKind::kBacklog:
      return check_again(frame, decode_backlog(payload), append_backlog);
    case FrameKind::kCreditBack:
      return check_again(frame, decode_credit_back(payload), append_credit_back);
    case FrameKind::kRefusal:
      CHECK(!decode_refusal(payload).ok());
      return;
    case FrameKind::kProducersEnded:
      return check_again(frame, decode_producers_ended(payload), [&](const auto& spans, auto* out) {
        append_producers_ended(attachment, spans, out);
      });
    default:
      return;
  }
}

void check_header(const FrameHeader& header) {
  char bytes[kFrameHeaderBytes];
  header.encode_to(bytes);
  const auto again = FrameHeader::decode({bytes, sizeof bytes});
  CHECK(again.ok() && *again == header);
  CHECK(to_string(header.kind) != "unknown");
}

}  // namespace

/// input := opening, seed of the cuts, stream. However a stream is cut, the same frames come out.
void frames(std::string_view bytes) {
  Input input(bytes);
  const FrameOpening opening = input.byte() % 2 == 0 ? FrameOpening::kHello : FrameOpening::kAny;
  const uint8_t seed = input.byte();
  const Outcome whole = read(input.rest(), opening, Cuts(0));
  const Outcome cut = read(input.rest(), opening, Cuts(seed));
  CHECK(whole.frames == cut.frames && whole.code == cut.code);
  CHECK(whole.code != StatusCode::kOk || whole.at_boundary == cut.at_boundary);
  for (const Frame& frame : whole.frames) {
    check_header(frame.header);
    check_message(frame);
  }
}

Seeds frames_seeds() {
  std::string all;
  append_hello({TaskManagerId{7}, "secret"}, &all);
  Attachment wanted;
  wanted.job = {1, 2};
  wanted.credit_bytes = kFrameCreditUnitBytes;
  wanted.producers = {{{0, 2}, 1}, {{3, 4}, 0}};
  wanted.positions = {{1, 5, 6}, {3, 1, 0}};
  CHECK(append_attach(1, wanted, &all).ok());
  append_attach_reply(1, {{0, 2}, not_found("no such dataset")}, &all);
  append_credit({{1, 0, 1024}, {1, 1, 2048}}, &all);
  append_backlog({{1, 3, 5}}, &all);
  append_credit_back({{1, 3, 5}}, &all);
  append_producers_ended(1, {{0, 2}, {3, 4}}, &all);
  append_detach(1, &all);
  append_challenge(std::string(32, 'n'), &all);
  append_proof(std::string(32, 'p'), &all);
  append_refusal(failed_precondition("no secret"), &all);
  const size_t hello_bytes = kFrameHeaderBytes + 26;
  std::string data(kFrameHeaderBytes, '\0');
  FrameHeader header;
  header.payload_bytes = 3000;
  header.block_class = 4;
  header.elements_started = 2;
  header.encode_to(data.data());
  data += std::string(3000, 'x');
  return {std::string("\0\0", 2) + all, std::string("\1\7") + all.substr(hello_bytes),
          std::string("\1\x9", 2) + data + all};
}

}  // namespace freshet::fuzz
