#include "runtime/rest/http_connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

namespace freshet::rest {

namespace {

constexpr Duration kLook = 100ms;  // How often it is asked whether others wait.

}  // namespace

HttpConnection::HttpConnection(int socket, const Clock& clock, const Patience& patience,
                               std::function<bool()> busy)
    : socket_(socket),
      clock_(clock),
      patience_(patience),
      busy_(std::move(busy)),
      request_{clock.now()} {}

bool HttpConnection::wait(short event, const Progress& progress, TimePoint due) const {
  const Duration earned =
      std::chrono::milliseconds(progress.bytes * 1000 / patience_.bytes_per_second);
  while (true) {
    const Duration whole = busy_() ? patience_.whole_when_busy : patience_.whole;
    const TimePoint now = clock_.now();
    const TimePoint end = std::min(due, progress.began + whole + earned);
    const Duration left = std::clamp<Duration>(end - now, 0s, kLook);
    pollfd ready{socket_, event, 0};
    const int count = poll(&ready, 1, static_cast<int>(to_millis(left)) + 1);
    if (count > 0) return true;
    if ((count < 0 && errno != EINTR) || now >= end) return false;
  }
}

bool HttpConnection::is_readable() const {
  return next_ < end_ || wait(POLLIN, request_, clock_.now());
}

bool HttpConnection::is_writable() const { return wait(POLLOUT, answer_, clock_.now()); }

bool HttpConnection::wait_for_request() {
  const bool came = wait(POLLIN, {clock_.now()}, clock_.now() + patience_.first_byte);
  request_.began = clock_.now();
  return came;
}

bool HttpConnection::wait_for_next(Duration longest) {
  if (in_head_ || unread_ != 0 || late_ || streams_) return false;
  const TimePoint due = clock_.now() + longest;
  bool came = next_ < end_;
  while (!came && !busy_() && clock_.now() < due)
    came = wait(POLLIN, {clock_.now()}, std::min(due, clock_.now() + kLook));
  if (!came) return false;
  in_head_ = true;
  unread_ = kHeadBytesMax;
  request_ = {clock_.now()};
  answer_ = {};
  return true;
}

bool HttpConnection::fill() {
  const TimePoint due = clock_.now() + patience_.silence;
  while (wait(POLLIN, request_, due)) {
    const ssize_t size = recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    next_ = 0;
    end_ = static_cast<size_t>(std::max<ssize_t>(size, 0));
    request_.bytes += end_;
    return size >= 0;
  }
  late_ = true;
  return false;
}

ssize_t HttpConnection::read(char* to, size_t size) {
  if (unread_ == 0) return in_head_ ? -1 : 0;
  if (next_ == end_ && !fill()) return -1;
  const size_t taken = std::min({size, end_ - next_, size_t{unread_}});
  std::copy_n(buffer_.data() + next_, taken, to);
  next_ += taken;
  unread_ -= taken;
  return static_cast<ssize_t>(taken);
}

ssize_t HttpConnection::write(const char* from, size_t size) {
  if (streams_) answer_.bytes = 0;
  if (answer_.bytes == 0) answer_.began = clock_.now();
  for (size_t written = 0; written < size;) {
    if (!wait(POLLOUT, answer_, clock_.now() + patience_.silence)) return -1;
    const ssize_t part = send(socket_, from + written, size - written, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (part < 0 && errno != EAGAIN && errno != EINTR) return -1;
    if (part < 0) continue;
    written += static_cast<size_t>(part);
    answer_.bytes += static_cast<uint64_t>(part);
  }
  return static_cast<ssize_t>(size);
}

bool HttpConnection::has_left() const {
  char next = 0;
  return recv(socket_, &next, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

void HttpConnection::drain(uint64_t bytes_max) {
  if (!in_head_ && unread_ == 0) return;
  ::shutdown(socket_, SHUT_WR);
  if (!late_) request_.began = clock_.now();
  const uint64_t most = request_.bytes + bytes_max;
  while (request_.bytes < most && fill() && end_ > 0) continue;
}

void HttpConnection::get_remote_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

void HttpConnection::get_local_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

}  // namespace freshet::rest
