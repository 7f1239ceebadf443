#include "shuffle/data_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace freshet {

namespace {

constexpr size_t kRefusalBytesMax = 1000;
constexpr size_t kEntriesMax = 60'000;  // In one frame, of any kind.
constexpr uint64_t kAttachFixedBytes = 52;
constexpr uint64_t kAttachRangeBytes = 12;
constexpr uint64_t kAttachPositionBytes = 20;
constexpr size_t kMessageBytesMax = 4096;

template <class T>
void put(std::string* out, T value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(T));
}

/// Reads integers; remembers when there were too few bytes.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  template <class T>
  T get() {
    T value{};
    if (rest_.size() < sizeof(T)) {
      failed_ = true;
      return value;
    }
    std::memcpy(&value, rest_.data(), sizeof(T));
    rest_.remove_prefix(sizeof(T));
    return value;
  }

  std::string text(size_t size) {
    if (rest_.size() < size) {
      failed_ = true;
      return {};
    }
    std::string text(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return text;
  }

  /// A count of entries of which each takes `entry_bytes`.
  size_t count(size_t entry_bytes) {
    const auto n = get<uint32_t>();
    if (static_cast<uint64_t>(n) * entry_bytes > rest_.size()) failed_ = true;
    return failed_ ? 0 : n;
  }

  bool failed() const { return failed_; }
  bool complete() const { return !failed_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

size_t begin_frame(FrameKind kind, uint32_t attachment, std::string* out) {
  FrameHeader header;
  header.kind = kind;
  header.attachment = attachment;
  const size_t start = out->size();
  out->resize(start + kFrameHeaderBytes);
  header.encode_to(out->data() + start);
  return start;
}

void end_frame(size_t start, std::string* out) {
  const auto size = static_cast<uint32_t>(out->size() - start - kFrameHeaderBytes);
  std::memcpy(out->data() + start, &size, sizeof(size));
}

Status malformed(FrameKind kind) {
  return data_loss(fmt::format("a malformed frame of kind {}", to_string(kind)));
}

template <class Entries, class Span>
bool rises(const Entries& entries, Span&& span_of) {
  uint32_t end = 0;
  for (const auto& entry : entries) {
    const ProducerSpan span = span_of(entry);
    if (span.begin < end || span.begin >= span.end) return false;
    end = span.end;
  }
  return true;
}

void append_channel_bytes(FrameKind kind, const std::vector<ChannelBytes>& entries,
                          std::string* out) {
  for (size_t from = 0; from < entries.size(); from += kEntriesMax) {
    const size_t start = begin_frame(kind, 0, out);
    for (size_t i = from; i < std::min(entries.size(), from + kEntriesMax); ++i) {
      put(out, entries[i].attachment);
      put(out, entries[i].producer);
      put(out, entries[i].bytes);
    }
    end_frame(start, out);
  }
}

Result<std::vector<ChannelBytes>> decode_channel_bytes(FrameKind kind, std::string_view payload) {
  constexpr size_t kEntryBytes = 12;
  if (payload.empty() || payload.size() % kEntryBytes != 0) return malformed(kind);
  Reader reader(payload);
  std::vector<ChannelBytes> entries(payload.size() / kEntryBytes);
  for (ChannelBytes& entry : entries) {
    entry.attachment = reader.get<uint32_t>();
    entry.producer = reader.get<uint32_t>();
    entry.bytes = reader.get<uint32_t>();
  }
  return entries;
}

}  // namespace

void append_hello(const Hello& hello, std::string* out) {
  const size_t start = begin_frame(FrameKind::kHello, 0, out);
  put(out, kDataMagic);
  put(out, kDataVersion);
  put(out, hello.task_manager.value);
  put(out, static_cast<uint32_t>(hello.nonce.size()));
  out->append(hello.nonce);
  end_frame(start, out);
}

Result<Hello> decode_hello(std::string_view payload) {
  Reader reader(payload);
  const auto magic = reader.get<uint32_t>();
  const auto version = reader.get<uint32_t>();
  if (reader.failed() || magic != kDataMagic) return malformed(FrameKind::kHello);
  if (version != kDataVersion) {
    return failed_precondition(fmt::format(
        "the peer speaks version {} of the data protocol, and this is {}", version, kDataVersion));
  }
  Hello hello;
  hello.task_manager.value = reader.get<uint64_t>();
  hello.nonce = reader.text(reader.count(1));
  if (!reader.complete()) return malformed(FrameKind::kHello);
  return hello;
}

void append_challenge(const std::string& nonce, std::string* out) {
  const size_t start = begin_frame(FrameKind::kChallenge, 0, out);
  out->append(nonce);
  end_frame(start, out);
}

void append_proof(const std::string& proof, std::string* out) {
  const size_t start = begin_frame(FrameKind::kProof, 0, out);
  out->append(proof);
  end_frame(start, out);
}

void append_refusal(const Status& cause, std::string* out) {
  const size_t start = begin_frame(FrameKind::kRefusal, 0, out);
  const std::string_view message = std::string_view(cause.message()).substr(0, kRefusalBytesMax);
  put(out, static_cast<uint32_t>(cause.code()));
  put(out, static_cast<uint32_t>(message.size()));
  out->append(message);
  end_frame(start, out);
}

Status decode_refusal(std::string_view payload) {
  Reader reader(payload);
  const auto code = reader.get<uint32_t>();
  const std::string message = reader.text(reader.count(1));
  const bool valid = reader.complete() && message.size() <= kRefusalBytesMax &&
                     code != static_cast<uint32_t>(StatusCode::kOk) &&
                     code <= static_cast<uint32_t>(StatusCode::kInternal);
  if (!valid) return malformed(FrameKind::kRefusal);
  return Status(static_cast<StatusCode>(code), "refused: " + message);
}

Status append_attach(uint32_t attachment, const Attachment& wanted, std::string* out) {
  const uint64_t bytes = kAttachFixedBytes + wanted.producers.size() * kAttachRangeBytes +
                         wanted.positions.size() * kAttachPositionBytes;
  if (bytes > kFramePayloadBytesMax) {
    return invalid_argument(fmt::format(
        "{} ranges of producers and {} positions in one gate take {} bytes to ask for; "
        "at most {} are possible",
        wanted.producers.size(), wanted.positions.size(), bytes, kFramePayloadBytesMax));
  }
  const size_t start = begin_frame(FrameKind::kAttach, attachment, out);
  put(out, wanted.job.high);
  put(out, wanted.job.low);
  put(out, wanted.dataset.value);
  put(out, wanted.subpartition);
  put(out, wanted.subpartition_count);
  put(out, wanted.consumer.subtask.vertex.value);
  put(out, wanted.consumer.subtask.index);
  put(out, wanted.consumer.attempt);
  put(out, wanted.credit_bytes);
  put(out, static_cast<uint32_t>(wanted.stored));
  put(out, static_cast<uint32_t>(wanted.producers.size()));
  for (const AttachedProducers& range : wanted.producers) {
    put(out, range.span.begin);
    put(out, range.span.end);
    put(out, range.attempt);
  }
  put(out, static_cast<uint32_t>(wanted.positions.size()));
  for (const AttachedPosition& position : wanted.positions) {
    put(out, position.producer);
    put(out, position.next_element);
    put(out, position.hash);
  }
  end_frame(start, out);
  return Status();
}

Result<Attachment> decode_attach(std::string_view payload) {
  Reader reader(payload);
  Attachment wanted;
  wanted.job.high = reader.get<uint64_t>();
  wanted.job.low = reader.get<uint64_t>();
  wanted.dataset.value = reader.get<uint32_t>();
  wanted.subpartition = reader.get<uint32_t>();
  wanted.subpartition_count = reader.get<uint32_t>();
  wanted.consumer.job = wanted.job;
  wanted.consumer.subtask.vertex.value = reader.get<uint32_t>();
  wanted.consumer.subtask.index = reader.get<uint32_t>();
  wanted.consumer.attempt = reader.get<uint32_t>();
  wanted.credit_bytes = reader.get<uint32_t>();
  const auto stored = reader.get<uint32_t>();
  wanted.stored = stored == 1;
  wanted.producers.resize(reader.count(kAttachRangeBytes));
  for (AttachedProducers& range : wanted.producers) {
    range.span.begin = reader.get<uint32_t>();
    range.span.end = reader.get<uint32_t>();
    range.attempt = reader.get<uint32_t>();
  }
  wanted.positions.resize(reader.count(kAttachPositionBytes));
  for (AttachedPosition& position : wanted.positions) {
    position.producer = reader.get<uint32_t>();
    position.next_element = reader.get<uint64_t>();
    position.hash = reader.get<uint64_t>();
  }
  const bool valid =
      reader.complete() && !wanted.producers.empty() && wanted.subpartition_count > 0 &&
      stored <= 1 && (wanted.credit_bytes == 0 || wanted.credit_bytes >= kFrameCreditUnitBytes) &&
      wanted.credit_bytes <= kCreditBytesMax &&
      rises(wanted.producers, [](const AttachedProducers& range) { return range.span; }) &&
      rises(wanted.positions, [](const AttachedPosition& position) {
        return ProducerSpan{position.producer, position.producer + 1};
      });
  if (!valid) return malformed(FrameKind::kAttach);
  return wanted;
}

void append_attach_reply(uint32_t attachment, const Loss& loss, std::string* out) {
  const size_t start = begin_frame(FrameKind::kAttachReply, attachment, out);
  const std::string_view message =
      std::string_view(loss.cause.message()).substr(0, kMessageBytesMax);
  put(out, loss.producers.begin);
  put(out, loss.producers.end);
  put(out, static_cast<uint32_t>(loss.cause.code()));
  put(out, static_cast<uint32_t>(message.size()));
  out->append(message);
  end_frame(start, out);
}

Result<Loss> decode_attach_reply(std::string_view payload) {
  Reader reader(payload);
  Loss loss;
  loss.producers.begin = reader.get<uint32_t>();
  loss.producers.end = reader.get<uint32_t>();
  const auto code = reader.get<uint32_t>();
  std::string message = reader.text(reader.count(1));
  const bool valid = reader.complete() && loss.producers.begin < loss.producers.end &&
                     code != static_cast<uint32_t>(StatusCode::kOk) &&
                     code <= static_cast<uint32_t>(StatusCode::kInternal);
  if (!valid) return malformed(FrameKind::kAttachReply);
  loss.cause = Status(static_cast<StatusCode>(code), std::move(message));
  return loss;
}

void append_credit(const std::vector<CreditReturn>& credits, std::string* out) {
  append_channel_bytes(FrameKind::kCredit, credits, out);
}

Result<std::vector<CreditReturn>> decode_credit(std::string_view payload) {
  return decode_channel_bytes(FrameKind::kCredit, payload);
}

void append_backlog(const std::vector<Backlog>& backlogs, std::string* out) {
  append_channel_bytes(FrameKind::kBacklog, backlogs, out);
}

Result<std::vector<Backlog>> decode_backlog(std::string_view payload) {
  return decode_channel_bytes(FrameKind::kBacklog, payload);
}

void append_credit_back(const std::vector<CreditBack>& credits, std::string* out) {
  append_channel_bytes(FrameKind::kCreditBack, credits, out);
}

Result<std::vector<CreditBack>> decode_credit_back(std::string_view payload) {
  return decode_channel_bytes(FrameKind::kCreditBack, payload);
}

void append_producers_ended(uint32_t attachment, const std::vector<ProducerSpan>& spans,
                            std::string* out) {
  for (size_t from = 0; from < spans.size(); from += kEntriesMax) {
    const size_t start = begin_frame(FrameKind::kProducersEnded, attachment, out);
    for (size_t i = from; i < std::min(spans.size(), from + kEntriesMax); ++i) {
      put(out, spans[i].begin);
      put(out, spans[i].end);
    }
    end_frame(start, out);
  }
}

Result<std::vector<ProducerSpan>> decode_producers_ended(std::string_view payload) {
  if (payload.empty() || payload.size() % 8 != 0) return malformed(FrameKind::kProducersEnded);
  Reader reader(payload);
  std::vector<ProducerSpan> spans(payload.size() / 8);
  for (ProducerSpan& span : spans) {
    span.begin = reader.get<uint32_t>();
    span.end = reader.get<uint32_t>();
  }
  if (!rises(spans, [](const ProducerSpan& span) { return span; }))
    return malformed(FrameKind::kProducersEnded);
  return spans;
}

void append_detach(uint32_t attachment, std::string* out) {
  end_frame(begin_frame(FrameKind::kDetach, attachment, out), out);
}

}  // namespace freshet
