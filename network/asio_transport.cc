#include "network/asio_transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <asio/connect.hpp>
#include <asio/generic/stream_protocol.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <cstring>
#include <future>

#include "network/asio_connection.h"
#include "network/asio_io_loop.h"
#include "network/unix_socket.h"
#include "runtime/base/log.h"

namespace freshet {

namespace {

using asio::generic::stream_protocol;
using asio::ip::tcp;
using ErrorCode = asio::error_code;

constexpr Duration kAcceptPause = 50ms;  // After an error such as a lack of descriptors.

/// Of TCP.
Address address_of(const stream_protocol::endpoint& generic) {
  tcp::endpoint endpoint;
  if (generic.size() > endpoint.capacity()) return Address();
  std::memcpy(endpoint.data(), generic.data(), generic.size());
  return Address{endpoint.address().to_string(), endpoint.port()};
}

/// Accepts on one loop, for connections of all.
class Acceptor final : public LoopMember, public std::enable_shared_from_this<Acceptor> {
 public:
  Acceptor(std::shared_ptr<LoopChooser> loops, AcceptHandler accept)
      : loops_(std::move(loops)),
        loop_(loops_->next()),
        acceptor_(loop_->context()),
        pause_(loop_->context()),
        accept_(std::move(accept)) {}

  // One of these, before anybody else knows this object.

  ErrorCode open(const std::string& host, const tcp::endpoint& tcp_endpoint) {
    const stream_protocol::endpoint endpoint(tcp_endpoint);
    ErrorCode error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (!error) address_ = Address{host, address_of(acceptor_.local_endpoint(error)).port};
    return error;
  }

  Status open_unix(const Address& address) {
    ASSIGN_OR_RETURN(unix_, UnixListener::listen(address));
    OwnedDescriptor descriptor(unix_->take_descriptor());
    ErrorCode error;
    acceptor_.assign(stream_protocol(AF_UNIX, 0), descriptor.get(), error);
    if (error) return network_error(address, error).with_context("cannot listen");
    descriptor.release();
    address_ = address;
    return Status();
  }

  const Address& address() const { return address_; }

  void start() {
    loop_->post([self = shared_from_this()] {
      self->member_ = self->loop_->add(self);
      if (self->loop_->shutting_down()) return self->close();
      self->accept_next();
    });
  }

  /// Afterwards nothing is accepted and the accept handler is gone, unless it is the caller.
  void stop() {
    if (loop_->on_thread()) return close();
    std::promise<void> closed;
    const bool posted = loop_->post([this, &closed] {
      close();
      closed.set_value();
    });
    if (posted) closed.get_future().wait();
  }

  void on_loop_shutdown() override { close(); }

 private:
  void accept_next() {
    if (!acceptor_.is_open()) return;
    const std::shared_ptr<IoLoop>& target = loops_->next();
    acceptor_.async_accept(
        target->context(), peer_,
        [self = shared_from_this(), target](ErrorCode error, StreamSocket socket) {
          self->on_accept(error, std::move(socket), target);
        });
  }

  void on_accept(const ErrorCode& error, StreamSocket socket,
                 const std::shared_ptr<IoLoop>& target) {
    if (!acceptor_.is_open()) return;
    if (!error) {
      if (failing_) LOG_INFO("accept_recovered", {{"address", address_.to_string()}});
      failing_ = false;
      if (may_connect(socket)) take(std::move(socket), target);
    } else if (error != asio::error::connection_aborted) {
      return pause_after(error);
    }
    accept_next();
  }

  void take(StreamSocket socket, const std::shared_ptr<IoLoop>& target) {
    calling_ = true;
    accept_(make_asio_connection(target, std::move(socket),
                                 address_.is_unix() ? address_ : address_of(peer_)));
    calling_ = false;
    if (!acceptor_.is_open()) accept_ = nullptr;
  }

  /// Says so once: whoever may not could come all the time.
  bool may_connect(StreamSocket& socket) {
    if (!address_.is_unix()) return true;
    const Status user = check_peer_user(socket.native_handle());
    if (!user.ok() && !refused_)
      LOG_WARN("connections_refused", {{"address", address_.to_string()}, {"cause", user}});
    refused_ = refused_ || !user.ok();
    return user.ok();
  }

  void pause_after(const ErrorCode& error) {
    if (!failing_)
      LOG_WARN("accept_failed", {{"address", address_.to_string()}, {"error", error.message()}});
    failing_ = true;
    pause_.expires_after(kAcceptPause);
    pause_.async_wait([self = shared_from_this()](ErrorCode) { self->accept_next(); });
  }

  void close() {
    ErrorCode ignored;
    unix_ = nullptr;  // While it is still in use: so nobody puts another file in its place.
    acceptor_.close(ignored);
    pause_.cancel();
    if (!calling_) accept_ = nullptr;
    if (member_ != 0) loop_->remove(member_);
    member_ = 0;
  }

  const std::shared_ptr<LoopChooser> loops_;
  const std::shared_ptr<IoLoop> loop_;
  asio::basic_socket_acceptor<stream_protocol> acceptor_;
  std::unique_ptr<UnixListener> unix_;  // The file of a Unix socket.
  asio::steady_timer pause_;
  stream_protocol::endpoint peer_;  // Of the accept under way.
  AcceptHandler accept_;
  Address address_;
  uint64_t member_ = 0;
  bool failing_ = false;
  bool refused_ = false;  // Somebody of another user, once.
  bool calling_ = false;
};

class AsioListener final : public Listener {
 public:
  explicit AsioListener(std::shared_ptr<Acceptor> acceptor) : acceptor_(std::move(acceptor)) {}
  ~AsioListener() override { acceptor_->stop(); }
  Address address() const override { return acceptor_->address(); }

 private:
  const std::shared_ptr<Acceptor> acceptor_;
};

/// One connect(): looks the name up, tries its addresses, and gives up in time.
class Connector final : public LoopMember, public std::enable_shared_from_this<Connector> {
 public:
  Connector(std::shared_ptr<IoLoop> loop, Address address, Duration timeout, ConnectHandler done)
      : loop_(std::move(loop)),
        address_(std::move(address)),
        timeout_(timeout),
        resolver_(loop_->context()),
        socket_(loop_->context()),
        timer_(loop_->context()),
        done_(std::move(done)) {}

  void start() {
    member_ = loop_->add(weak_from_this());
    if (loop_->shutting_down()) return on_loop_shutdown();
    if (address_.is_unix()) return connect_unix();
    timer_.expires_after(timeout_);
    timer_.async_wait([self = shared_from_this()](ErrorCode error) {
      if (error) return;
      self->finish(
          deadline_exceeded(fmt::format("{}: no connection within {}", self->address_.to_string(),
                                        format_duration(self->timeout_))));
    });
    ErrorCode not_numeric;
    const asio::ip::address numeric = asio::ip::make_address(address_.host, not_numeric);
    if (!not_numeric) return try_endpoints({tcp::endpoint(numeric, address_.port)});
    resolver_.async_resolve(
        address_.host, std::to_string(address_.port),
        [self = shared_from_this()](ErrorCode error, const tcp::resolver::results_type& found) {
          if (error) return self->finish(network_error(self->address_, error));
          self->try_endpoints({found.begin(), found.end()});
        });
  }

  void on_loop_shutdown() override {
    finish(aborted(fmt::format("{}: the transport is shutting down", address_.to_string())));
  }

 private:
  void connect_unix() {
    Result<OwnedDescriptor> connected = connect_unix_socket(address_);
    if (!connected.ok()) return finish(connected.status());
    ErrorCode error;
    socket_.assign(stream_protocol(AF_UNIX, 0), connected->get(), error);
    if (error) return finish(network_error(address_, error));
    connected->release();
    finish(make_asio_connection(loop_, std::move(socket_), address_));
  }

  void try_endpoints(const std::vector<tcp::endpoint>& endpoints) {
    if (!done_) return;
    endpoints_.assign(endpoints.begin(), endpoints.end());
    asio::async_connect(
        socket_, endpoints_,
        [self = shared_from_this()](ErrorCode error, const stream_protocol::endpoint&) {
          self->on_connect(error);
        });
  }

  void on_connect(const ErrorCode& error) {
    if (!done_) return;
    if (error == asio::error::operation_aborted) return finish(network_error(address_, why_not()));
    if (error) return finish(network_error(address_, error));
    // The kernel may connect a loopback socket to itself, when the port that it picks is the one
    // asked for.
    ErrorCode unknown;
    if (socket_.local_endpoint(unknown) == socket_.remote_endpoint(unknown)) {
      return finish(network_error(address_, asio::error::connection_refused));
    }
    finish(make_asio_connection(loop_, std::move(socket_), address_));
  }

  /// Of several addresses Asio says only that it gave up when it could not open a socket.
  ErrorCode why_not() {
    ErrorCode error;
    StreamSocket socket(loop_->context());
    if (!endpoints_.empty()) socket.open(endpoints_.front().protocol(), error);
    return error ? error : asio::error::operation_aborted;
  }

  void finish(Result<std::shared_ptr<Connection>> result) {
    if (!done_) return;
    ConnectHandler done = std::move(done_);
    done_ = nullptr;
    loop_->remove(member_);
    timer_.cancel();
    resolver_.cancel();
    ErrorCode ignored;
    socket_.close(ignored);
    done(std::move(result));
  }

  const std::shared_ptr<IoLoop> loop_;
  const Address address_;
  const Duration timeout_;
  tcp::resolver resolver_;
  StreamSocket socket_;
  asio::steady_timer timer_;
  std::vector<stream_protocol::endpoint> endpoints_;
  ConnectHandler done_;  // Empty once called.
  uint64_t member_ = 0;
};

class AsioTransport final : public Transport {
 public:
  explicit AsioTransport(const AsioTransportOptions& options)
      : loops_(std::make_shared<LoopChooser>(std::max<size_t>(options.threads, 1))) {}

  ~AsioTransport() override {
    for (const auto& loop : loops_->all()) loop->begin_shutdown();
    for (const auto& loop : loops_->all()) loop->finish_shutdown();
  }

  Result<std::unique_ptr<Listener>> listen(const Address& address, AcceptHandler accept) override {
    auto acceptor = std::make_shared<Acceptor>(loops_, std::move(accept));
    RETURN_IF_ERROR(address.is_unix() ? acceptor->open_unix(address) : open(address, *acceptor));
    acceptor->start();
    return std::unique_ptr<Listener>(std::make_unique<AsioListener>(acceptor));
  }

  void connect(const Address& address, Duration timeout, ConnectHandler done) override {
    // While the transport shuts down another loop may be over already, and would drop `done` unrun.
    const std::shared_ptr<IoLoop>& loop = loops_->present_or_next();
    auto connector = std::make_shared<Connector>(loop, address, timeout, std::move(done));
    loop->post([connector = std::move(connector)] { connector->start(); });
  }

 private:
  Status open(const Address& address, Acceptor& acceptor) {
    ASSIGN_OR_RETURN(const tcp::endpoint endpoint, find_endpoint(address));
    const ErrorCode error = acceptor.open(address.host, endpoint);
    if (error == asio::error::address_in_use)
      return already_exists(fmt::format("{}: the port is in use", address.to_string()));
    if (error) return network_error(address, error).with_context("cannot listen");
    return Status();
  }

  /// Prefers IPv4 when a name has both.
  Result<tcp::endpoint> find_endpoint(const Address& address) {
    ErrorCode error;
    const asio::ip::address numeric = asio::ip::make_address(address.host, error);
    if (!error) return tcp::endpoint(numeric, address.port);
    asio::io_context context(1);
    tcp::resolver resolver(context);
    const auto found = resolver.resolve(address.host, std::to_string(address.port), error);
    if (error || found.empty()) return network_error(address, error).with_context("cannot listen");
    const auto v4 = std::find_if(found.begin(), found.end(), [](const auto& entry) {
      return entry.endpoint().protocol() == tcp::v4();
    });
    return (v4 != found.end() ? v4 : found.begin())->endpoint();
  }

  const std::shared_ptr<LoopChooser> loops_;
};

}  // namespace

std::unique_ptr<Transport> make_asio_transport(const AsioTransportOptions& options) {
  return std::make_unique<AsioTransport>(options);
}

}  // namespace freshet
