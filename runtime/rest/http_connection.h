#pragma once

#include <httplib.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "runtime/base/clock.h"

namespace freshet::rest {

/// One connection of a client, for cpp-httplib, with bounds on what it may say and on how long: a
/// client that falls silent is given up, and so is one that goes on forever, byte by byte. After
/// that it reads and writes no more.
class HttpConnection final : public httplib::Stream {
 public:
  struct Patience {
    Duration first_byte = 1s;
    Duration silence = 5s;  // In the middle of a request or an answer.
    // Of a whole request, and then of a whole answer. Both get more for what is large.
    Duration whole = 10s;
    Duration whole_when_busy = 2s;  // When others wait for a thread.
    uint64_t bytes_per_second = 256 << 10;
  };
  static constexpr uint64_t kHeadBytesMax = 64 << 10;

  /// `busy` says whether others wait. Does not close the socket.
  HttpConnection(int socket, const Clock& clock, const Patience& patience,
                 std::function<bool()> busy);

  /// False when the client says nothing.
  bool wait_for_request();

  /// After an answer: true when another request begins on the same connection before `longest` has
  /// passed. Not when something of the last one was not read or taken, nor while it is `busy`.
  bool wait_for_next(Duration longest);

  /// All but the body has been read, which has so many bytes.
  void on_head_read(uint64_t body_bytes) {
    in_head_ = false;
    unread_ = body_bytes;
  }

  /// From now on the answer may take any time, but not what is sent at once of it.
  void on_stream() { streams_ = true; }
  /// The client has closed its side.
  bool has_left() const;

  /// After the answer: of a body that was not read, so much is read and dropped, so that the client
  /// reads the answer before it learns that nobody listens.
  void drain(uint64_t bytes_max);

  bool is_readable() const override;
  bool is_writable() const override;
  /// -1: the client is too slow, or says too much. 0: it says no more.
  ssize_t read(char* to, size_t size) override;
  /// All of it, or -1.
  ssize_t write(const char* from, size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return socket_; }

 private:
  struct Progress {
    TimePoint began;
    uint64_t bytes = 0;
  };

  /// Until the socket is ready for `event`; not later than `due`, nor than `progress` may take.
  bool wait(short event, const Progress& progress, TimePoint due) const;
  /// More into the buffer; nothing when the client says no more.
  bool fill();

  const int socket_;
  const Clock& clock_;
  const Patience patience_;
  const std::function<bool()> busy_;
  Progress request_;
  Progress answer_;
  bool in_head_ = true;
  bool late_ = false;
  bool streams_ = false;
  uint64_t unread_ = kHeadBytesMax;  // That the head may have, or that the body has.
  std::array<char, 16 << 10> buffer_;
  size_t next_ = 0;
  size_t end_ = 0;
};

}  // namespace freshet::rest
