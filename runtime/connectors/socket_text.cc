#include "runtime/connectors/socket_text.h"

#include <fmt/format.h>

#include <utility>

#include "runtime/base/log.h"
#include "runtime/connectors/connector_error.h"
#include "runtime/connectors/tcp_stream.h"

namespace freshet {
namespace {

constexpr uint64_t kLineBytesMax = 1 << 30;

std::string name_of(const std::string& host, uint32_t port) {
  const bool brackets = host.find(':') != std::string::npos;
  return brackets ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

void refuse_unless(bool good, const std::string& peer, const std::string& what) {
  if (!good) throw ConnectorError(invalid_argument("socket_text(" + peer + "): " + what));
}

bool is_usual(Duration duration) { return duration >= 1ms && duration <= 1h; }

}  // namespace

SocketTextReader::SocketTextReader(std::string peer, SocketTextOptions options,
                                   std::unique_ptr<ByteStream> stream)
    : peer_(std::move(peer)), options_(options), stream_(std::move(stream)) {}

void SocketTextReader::open_split(const std::string& /*payload*/) {
  since_ = context().processing_time();
}

ByteStream::Event SocketTextReader::next_event() {
  const std::string answer = context().external("socket " + peer_, [this] {
    ByteStream::Event event = stream_->next();
    return std::string(1, static_cast<char>(event.kind)) + event.text;
  });
  if (answer.empty()) return {};
  return {static_cast<ByteStream::Kind>(answer.front()), answer.substr(1)};
}

bool SocketTextReader::read(uint32_t max_records, RecordReceiver& to, uint64_t* count) {
  const EpochMillis now = context().processing_time();
  if (retry_at_ > now && retry_at_ - now <= to_millis(options_.retry_delay)) {
    wait_until(retry_at_);
    return true;
  }
  const uint64_t before = *count;
  emit_lines(max_records, to, count);
  if (*count != before) return true;
  if (ended_) return false;
  ByteStream::Event event = next_event();
  switch (event.kind) {
    case ByteStream::Kind::kConnected:
      connected_ = true;
      failures_ = 0;
      LOG_INFO("socket_connected", {{"job", context().attempt().job}, {"peer", peer_}});
      break;
    case ByteStream::Kind::kBytes:
      bytes_.erase(0, next_);
      searched_ -= next_;
      next_ = 0;
      bytes_ += event.text;
      break;
    case ByteStream::Kind::kEnd:
      ended_ = true;
      if (next_ < bytes_.size()) bytes_ += '\n';
      break;
    case ByteStream::Kind::kFailed:
      on_failure(event.text);
      break;
    case ByteStream::Kind::kNothing:
      if (!connected_ && now - since_ > to_millis(options_.connect_timeout)) {
        stream_->close();
        on_failure("no answer within " + format_duration(options_.connect_timeout));
      }
      break;
  }
  return true;
}

void SocketTextReader::on_failure(const std::string& why) {
  bytes_.clear();
  next_ = searched_ = 0;
  const bool lost = std::exchange(connected_, false);
  if (failures_ >= options_.max_retries && options_.max_retries != options_.kRetryForever) {
    const std::string tried =
        failures_ == 0 ? "" : fmt::format(" (tried {} times)", uint64_t{failures_} + 1);
    throw ConnectorError(unavailable(
        fmt::format("{} {}: {}{}; see that somebody listens there, or raise max_retries "
                    "(of SocketTextOptions; the job may have an option for it)",
                    lost ? "lost the connection to" : "cannot connect to", peer_, why, tried)));
  }
  failures_++;
  LOG_WARN("socket_retry", {{"job", context().attempt().job},
                            {"peer", peer_},
                            {"failures", failures_},
                            {"reason", why}});
  since_ = retry_at_ = context().processing_time() + to_millis(options_.retry_delay);
  wait_until(retry_at_);
}

void SocketTextReader::check_length(uint64_t bytes) const {
  if (bytes <= options_.line_bytes_max) return;
  throw ConnectorError(resource_exhausted(
      fmt::format("{} sent a line of more than {} bytes; end lines with '\\n', or raise "
                  "line_bytes_max (of SocketTextOptions; the job may have an option for it)",
                  peer_, options_.line_bytes_max)));
}

void SocketTextReader::emit_lines(uint32_t max_records, RecordReceiver& to, uint64_t* count) {
  for (uint32_t i = 0; i < max_records; i++) {
    const size_t end = bytes_.find('\n', searched_);
    if (end == std::string::npos) {
      searched_ = bytes_.size();
      check_length(searched_ - next_);
      return;
    }
    const bool carriage_return = end > next_ && bytes_[end - 1] == '\r';
    line_.assign(bytes_, next_, end - next_ - (carriage_return ? 1 : 0));
    next_ = searched_ = end + 1;
    check_length(line_.size());
    to.receive(&line_, kNoTimestamp);
    ++*count;
  }
}

Source<std::string> socket_text(std::string host, uint32_t port, SocketTextOptions options) {
  const std::string peer = name_of(host, port);
  refuse_unless(!host.empty(), peer, "the host is empty; name one, such as localhost");
  refuse_unless(port >= 1 && port <= 65'535, peer, "a port is a number from 1 to 65535");
  refuse_unless(is_usual(options.retry_delay), peer, "retry_delay must be 1 ms to 1 h");
  refuse_unless(is_usual(options.connect_timeout), peer, "connect_timeout must be 1 ms to 1 h");
  refuse_unless(options.line_bytes_max >= 1 && options.line_bytes_max <= kLineBytesMax, peer,
                fmt::format("line_bytes_max must be 1 to {}", kLineBytesMax));
  Source<std::string> source;
  source.name = "socket " + peer;
  source.bounded = false;
  source.repeatable = false;
  source.blocking = true;
  source.parallelism_max = 1;
  source.enumerator = make_enumerator_factory([] { return make_range_supply(NumberRange{0, 0}); });
  source.reader = make_reader_factory([host, port, peer, options] {
    return std::make_unique<SocketTextReader>(peer, options,
                                              make_tcp_stream(host, static_cast<uint16_t>(port)));
  });
  return source;
}

}  // namespace freshet
