#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/base/time.h"
#include "runtime/connectors/byte_stream.h"
#include "runtime/connectors/split_source.h"
#include "runtime/operators/source.h"

namespace freshet {

struct SocketTextOptions {
  static constexpr uint32_t kRetryForever = UINT32_MAX;

  uint32_t max_retries = 0;           // After a failure to connect or the loss of a connection.
  Duration retry_delay = 500ms;       // 1 ms to 1 h.
  Duration connect_timeout = 10s;     // 1 ms to 1 h.
  uint64_t line_bytes_max = 1 << 20;  // 1 to 2^30. A longer line fails the task.
};

/// The lines that `host`:`port` sends over TCP, without their ends, '\n' or "\r\n"; bytes behind
/// the last '\n' are a line, too. Has one reader, with a thread of its own. Ends when the peer
/// closes in good order.
///
/// At most once: a socket cannot be asked to repeat. What was read and not processed to the end
/// when the job fails is gone; the job connects anew when it restarts. With a connection that is
/// lost, the beginning of a line that was cut is dropped, and `max_retries` attempts are made to
/// connect anew, counted from 0 after each success; after the last one the task fails and names the
/// address. As long as the job is back-pressured nothing is read, so that the peer has to wait.
Source<std::string> socket_text(std::string host, uint32_t port, SocketTextOptions options = {});

/// The reader of socket_text(). What the stream says is recorded: executed again, it is not asked.
class SocketTextReader final : public SplitReader {
 public:
  /// `peer`: its address, for people.
  SocketTextReader(std::string peer, SocketTextOptions options, std::unique_ptr<ByteStream> stream);

  void close() override { stream_->close(); }

 protected:
  void open_split(const std::string& payload) override;
  bool read(uint32_t max_records, RecordReceiver& to, uint64_t* count) override;

 private:
  ByteStream::Event next_event();
  void on_failure(const std::string& why);
  void check_length(uint64_t bytes) const;
  void emit_lines(uint32_t max_records, RecordReceiver& to, uint64_t* count);

  const std::string peer_;
  const SocketTextOptions options_;
  const std::unique_ptr<ByteStream> stream_;
  std::string bytes_;    // Received; those before next_ are emitted.
  size_t next_ = 0;      // Where the next line begins.
  size_t searched_ = 0;  // No '\n' from next_ to here.
  std::string line_;     // Keeps its memory.
  bool connected_ = false;
  bool ended_ = false;     // By the peer.
  uint32_t failures_ = 0;  // Since the last connection.
  EpochMillis since_ = 0;  // When it began to connect.
  EpochMillis retry_at_ = 0;
};

}  // namespace freshet
