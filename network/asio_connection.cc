#include "network/asio_connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <asio/generic/stream_protocol.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <cstring>
#include <optional>

#include "network/outgoing_queue.h"
#include "network/socket_options.h"
#include "runtime/base/check.h"

namespace freshet {

namespace {

using ErrorCode = asio::error_code;

constexpr size_t kReadBufferBytes = 64 << 10;
constexpr size_t kReadBytesBehindPlace = 64 << 10;  // Of the buffer, when most goes elsewhere.
constexpr size_t kWriteBytesPerTurn = 1 << 20;      // Then others of the thread have their turn.
constexpr Duration kLingerTime = 1s;                // For the peer's answer to an orderly close.
constexpr Duration kLingerTimeAtShutdown = 100ms;

/// Empty when the peer has reset the connection already.
Address local_address_of(const StreamSocket& socket, const Address& remote) {
  if (remote.is_unix()) return remote;
  ErrorCode error;
  const asio::generic::stream_protocol::endpoint generic = socket.local_endpoint(error);
  asio::ip::tcp::endpoint endpoint;
  if (error || generic.size() > endpoint.capacity()) return Address();
  std::memcpy(endpoint.data(), generic.data(), generic.size());
  return Address{endpoint.address().to_string(), endpoint.port()};
}

/// Members without remark belong to the loop's thread once the object is shared.
class AsioConnection final : public Connection,
                             public LoopMember,
                             public std::enable_shared_from_this<AsioConnection> {
 public:
  AsioConnection(std::shared_ptr<IoLoop> loop, StreamSocket socket, Address remote)
      : loop_(std::move(loop)),
        local_(local_address_of(socket, remote)),
        remote_(std::move(remote)),
        socket_(std::move(socket)) {
    if (!remote_.is_unix()) set_connection_options(socket_.native_handle());
  }

  void start(std::shared_ptr<ConnectionHandler> handler) override {
    loop_->post([self = shared_from_this(), handler = std::move(handler)]() mutable {
      self->start_on_loop(std::move(handler));
    });
  }

  void send(std::vector<OutgoingBytes> pieces) override {
    loop_->post([self = shared_from_this(), pieces = std::move(pieces)]() mutable {
      self->send_on_loop(std::move(pieces));
    });
  }

  void close() override {
    if (loop_->on_thread()) return close_on_loop();
    loop_->post([self = shared_from_this()] { self->close_on_loop(); });
  }

  Address local_address() const override { return local_; }
  Address remote_address() const override { return remote_; }

  void on_loop_shutdown() override {
    close_on_loop();
    if (socket_.is_open() && linger_timer_.has_value()) start_linger_timer(kLingerTimeAtShutdown);
  }

 private:
  void start_on_loop(std::shared_ptr<ConnectionHandler> handler) {
    CHECK(!started_);
    started_ = true;
    handler_ = std::move(handler);
    if (closed_) return deliver_closed();
    member_ = loop_->add(weak_from_this());
    if (loop_->shutting_down()) return on_loop_shutdown();
    read();
    if (sending_) write();
  }

  void send_on_loop(std::vector<OutgoingBytes> pieces) {
    if (closed_ || write_failed_) return;
    CHECK(!sending_);
    sending_ = true;
    outgoing_.assign(std::move(pieces));
    if (started_) write();
  }

  void close_on_loop() {
    finish(aborted(fmt::format("{}: closed by this side", remote_.to_string())), true);
  }

  void write() {
    if (closed_) return;
    size_t turn = 0;
    while (!outgoing_.empty()) {
      if (turn >= kWriteBytesPerTurn) {
        asio::post(loop_->context(), [self = shared_from_this()] { self->write(); });
        return;
      }
      const ssize_t written = outgoing_.write(socket_.native_handle());
      if (written >= 0) {
        turn += static_cast<size_t>(written);
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        socket_.async_wait(StreamSocket::wait_write,
                           [self = shared_from_this()](ErrorCode) { self->write(); });
        return;
      } else if (errno != EINTR) {
        return on_write_error(ErrorCode(errno, asio::error::get_system_category()));
      }
    }
    outgoing_.clear();
    sending_ = false;
    handler_->on_sent();
  }

  /// A peer that is gone may have left words behind: reading goes on until it finds the end too.
  void on_write_error(const ErrorCode& error) {
    if (error != asio::error::broken_pipe && error != asio::error::connection_reset) {
      return finish(network_error(remote_, error), false);
    }
    write_failed_ = true;
    outgoing_.clear();
  }

  void read() {
    if (!buffer_) buffer_ = std::make_unique_for_overwrite<char[]>(kReadBufferBytes);
    auto done = [self = shared_from_this()](ErrorCode error, size_t size) {
      self->on_read(error, size);
    };
    reading_ = true;
    if (!closed_) place_ = handler_->next_place();
    if (place_.empty()) {
      socket_.async_read_some(asio::buffer(buffer_.get(), kReadBufferBytes), std::move(done));
    } else {
      socket_.async_read_some(std::array{asio::buffer(place_.data(), place_.size()),
                                         asio::buffer(buffer_.get(), kReadBytesBehindPlace)},
                              std::move(done));
    }
  }

  void on_read(const ErrorCode& error, size_t size) {
    const bool left_place = closed_ && error == asio::error::operation_aborted;
    if (error && closed_ && !(left_place && socket_.is_open())) return close_socket();
    if (error == asio::error::eof && !write_failed_) return finish(Status(), false);
    if (error && !left_place) {
      return finish(network_error(remote_, write_failed_ ? asio::error::connection_reset : error),
                    false);
    }
    const std::string_view placed(place_.data(), std::min(size, place_.size()));
    place_ = {};
    deliver(placed);
    deliver({buffer_.get(), size - placed.size()});
    reading_ = false;               // Not before: the handler had the buffer.
    if (socket_.is_open()) read();  // When closed, what comes is discarded; see linger().
  }

  void deliver(std::string_view bytes) {
    if (closed_ || bytes.empty()) return;
    Status status = handler_->on_bytes(bytes);
    if (!status.ok()) finish(std::move(status), true);
  }

  /// A read under way must not touch the handler's memory any more.
  void leave_place() {
    if (place_.empty()) return;
    place_ = {};
    ErrorCode ignored;
    socket_.cancel(ignored);
  }

  /// Ends the connection for its user. `orderly`: by our decision, with all that was sent still to
  /// arrive.
  void finish(Status why, bool orderly) {
    if (closed_) return;
    closed_ = true;
    why_ = std::move(why);
    leave_place();
    const bool cut = !outgoing_.empty();
    outgoing_.clear();
    if (orderly && !cut && !write_failed_) {
      linger();
    } else {
      ErrorCode ignored;
      if (cut)
        socket_.set_option(asio::socket_base::linger(true, 0),
                           ignored);  // A reset, so that the peer knows.
      close_socket();
    }
    if (started_) deliver_closed();
  }

  void deliver_closed() {
    asio::post(loop_->context(),
               [handler = std::move(handler_), why = why_] { handler->on_closed(why); });
  }

  /// A socket closed with bytes unread resets the connection, and the peer may lose what it did not
  /// read yet. So say that we are done, and discard what comes until the peer is done too.
  void linger() {
    ErrorCode error;
    socket_.shutdown(StreamSocket::shutdown_send, error);
    if (error) return close_socket();
    if (member_ == 0) member_ = loop_->add(weak_from_this());
    start_linger_timer(loop_->shutting_down() ? kLingerTimeAtShutdown : kLingerTime);
    if (!reading_) read();
  }

  void start_linger_timer(Duration time) {
    if (!linger_timer_.has_value()) linger_timer_.emplace(loop_->context());
    linger_timer_->expires_after(time);
    linger_timer_->async_wait([self = shared_from_this()](ErrorCode error) {
      if (!error) self->close_socket();
    });
  }

  void close_socket() {
    ErrorCode ignored;
    socket_.close(ignored);
    if (linger_timer_.has_value()) linger_timer_->cancel();
    if (member_ != 0) loop_->remove(member_);
    member_ = 0;
  }

  const std::shared_ptr<IoLoop> loop_;
  const Address local_;
  const Address remote_;
  StreamSocket socket_;
  std::shared_ptr<ConnectionHandler> handler_;  // Until on_closed() is on its way.
  std::unique_ptr<char[]> buffer_;
  std::span<char> place_;  // The handler's, in which a read is under way.
  OutgoingQueue outgoing_;
  std::optional<asio::steady_timer> linger_timer_;
  Status why_;
  uint64_t member_ = 0;
  bool started_ = false;
  bool sending_ = false;  // A send() is not confirmed yet.
  bool write_failed_ = false;
  bool closed_ = false;   // For the user; the socket may linger.
  bool reading_ = false;  // A read is under way, or its bytes are.
};

}  // namespace

Status network_error(const Address& address, const ErrorCode& error) {
  return unavailable(fmt::format("{}: {}", address.to_string(), error.message()));
}

std::shared_ptr<Connection> make_asio_connection(std::shared_ptr<IoLoop> loop, StreamSocket socket,
                                                 Address remote) {
  return std::make_shared<AsioConnection>(std::move(loop), std::move(socket), std::move(remote));
}

}  // namespace freshet
