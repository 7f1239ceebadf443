#include "network/asio_transport.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/socket.h>

#include <algorithm>
#include <asio/connect.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <atomic>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "network/outgoing_queue.h"
#include "network/socket_options.h"
#include "runtime/base/check.h"
#include "runtime/base/log.h"

namespace freshet {

namespace {

using asio::ip::tcp;
using ErrorCode = asio::error_code;

constexpr size_t kReadBufferBytes = 64 << 10;
constexpr size_t kWriteBytesPerTurn =
    1 << 20;                          // Then the other connections of the thread have their turn.
constexpr Duration kLingerTime = 1s;  // For the peer's answer to an orderly close.
constexpr Duration kLingerTimeAtShutdown = 100ms;
constexpr Duration kAcceptPause = 50ms;  // After an error such as a lack of descriptors.

/// Something on a loop that has to end before the loop can.
class LoopMember {
 public:
  virtual ~LoopMember() = default;
  virtual void on_loop_shutdown() = 0;
};

/// One I/O thread. Shared by everything that has sockets of its io_context, so that the context
/// outlives them; members without a lock belong to the thread.
class IoLoop : public std::enable_shared_from_this<IoLoop> {
 public:
  explicit IoLoop(size_t index)
      : work_(asio::make_work_guard(context_)), thread_([this, index] { run(index); }) {}

  bool on_thread() const { return std::this_thread::get_id() == thread_id_.load(); }
  asio::io_context& context() { return context_; }

  /// Runs `function` on the thread, never inside this call. After shutdown it is destroyed unrun
  /// and false comes back.
  template <class F>
  bool post(F function) {
    if (on_thread()) {
      asio::post(context_, std::move(function));
      return true;
    }
    std::lock_guard lock(mutex_);
    if (stopped_) return false;
    asio::post(context_, std::move(function));
    return true;
  }

  /// On the thread. The member hears of a shutdown until it is removed.
  uint64_t add(std::weak_ptr<LoopMember> member) {
    members_.emplace(next_member_, std::move(member));
    return next_member_++;
  }
  void remove(uint64_t member) { members_.erase(member); }

  /// On the thread. Whatever starts now must end at once.
  bool shutting_down() const { return shutting_down_; }

  void begin_shutdown() {
    post([this] {
      shutting_down_ = true;
      const auto members = members_;
      for (const auto& [id, weak] : members) {
        if (const auto member = weak.lock()) member->on_loop_shutdown();
      }
    });
  }

  /// After begin_shutdown(): waits until nothing is left to do.
  void finish_shutdown() {
    CHECK(!on_thread());
    work_.reset();
    thread_.join();
    thread_id_.store(std::this_thread::get_id());
    {
      std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    context_.restart();
    context_.run();  // What was posted since the thread ended.
    thread_id_.store(std::thread::id());
  }

 private:
  void run(size_t index) {
    thread_id_.store(std::this_thread::get_id());
    pthread_setname_np(pthread_self(), fmt::format("net-io-{}", index).substr(0, 15).c_str());
    context_.run();
  }

  asio::io_context context_{1};
  const tcp::socket never_opened_{
      context_};  // Makes Asio take its own descriptors now, not when there are none left.
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::mutex mutex_;  // Orders post() from outside and the end: a function left in the queue would
                      // keep itself alive.
  bool stopped_ = false;
  bool shutting_down_ = false;
  std::map<uint64_t, std::weak_ptr<LoopMember>> members_;
  uint64_t next_member_ = 1;
  std::atomic<std::thread::id> thread_id_{};
  std::thread thread_;
};

Status network_error(const Address& address, const ErrorCode& error) {
  return unavailable(fmt::format("{}: {}", address.to_string(), error.message()));
}

/// Empty when the peer has reset the connection already.
Address local_address_of(const tcp::socket& socket) {
  ErrorCode error;
  const tcp::endpoint endpoint = socket.local_endpoint(error);
  return error ? Address() : Address{endpoint.address().to_string(), endpoint.port()};
}

/// Members without remark belong to the loop's thread once the object is shared.
class AsioConnection final : public Connection,
                             public LoopMember,
                             public std::enable_shared_from_this<AsioConnection> {
 public:
  AsioConnection(std::shared_ptr<IoLoop> loop, tcp::socket socket, Address remote)
      : loop_(std::move(loop)),
        local_(local_address_of(socket)),
        remote_(std::move(remote)),
        socket_(std::move(socket)) {
    set_connection_options(socket_.native_handle());
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
        socket_.async_wait(tcp::socket::wait_write,
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
    socket_.async_read_some(
        asio::buffer(buffer_.get(), kReadBufferBytes),
        [self = shared_from_this()](ErrorCode error, size_t size) { self->on_read(error, size); });
    reading_ = true;
  }

  void on_read(const ErrorCode& error, size_t size) {
    if (error && closed_) return close_socket();
    if (error == asio::error::eof && !write_failed_) return finish(Status(), false);
    if (error) {
      return finish(network_error(remote_, write_failed_ ? asio::error::connection_reset : error),
                    false);
    }
    if (!closed_) {
      Status status = handler_->on_bytes({buffer_.get(), size});
      if (!status.ok()) finish(std::move(status), true);
    }
    reading_ = false;               // Not before: the handler had the buffer.
    if (socket_.is_open()) read();  // When closed, what comes is discarded; see linger().
  }

  /// Ends the connection for its user. `orderly`: by our decision, with all that was sent still to
  /// arrive.
  void finish(Status why, bool orderly) {
    if (closed_) return;
    closed_ = true;
    why_ = std::move(why);
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
    socket_.shutdown(tcp::socket::shutdown_send, error);
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
  tcp::socket socket_;
  std::shared_ptr<ConnectionHandler> handler_;  // Until on_closed() is on its way.
  std::unique_ptr<char[]> buffer_;
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

/// Shares out loops to connections. Thread-safe.
class LoopChooser {
 public:
  explicit LoopChooser(size_t threads) {
    for (size_t i = 0; i < threads; ++i) loops_.push_back(std::make_shared<IoLoop>(i));
  }
  const std::shared_ptr<IoLoop>& next() { return loops_[next_.fetch_add(1) % loops_.size()]; }
  /// The loop of the calling thread, which lasts at least until the present call is over, or
  /// next().
  const std::shared_ptr<IoLoop>& present_or_next() {
    for (const auto& loop : loops_) {
      if (loop->on_thread()) return loop;
    }
    return next();
  }
  const std::vector<std::shared_ptr<IoLoop>>& all() const { return loops_; }

 private:
  std::vector<std::shared_ptr<IoLoop>> loops_;
  std::atomic<size_t> next_{0};
};

/// Accepts on one loop, for connections of all.
class Acceptor final : public LoopMember, public std::enable_shared_from_this<Acceptor> {
 public:
  Acceptor(std::shared_ptr<LoopChooser> loops, AcceptHandler accept)
      : loops_(std::move(loops)),
        loop_(loops_->next()),
        acceptor_(loop_->context()),
        pause_(loop_->context()),
        accept_(std::move(accept)) {}

  /// Before anybody else knows this object.
  ErrorCode open(const tcp::endpoint& endpoint) {
    ErrorCode error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (!error) port_ = acceptor_.local_endpoint(error).port();
    return error;
  }

  uint16_t port() const { return port_; }

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
        [self = shared_from_this(), target](ErrorCode error, tcp::socket socket) {
          self->on_accept(error, std::move(socket), target);
        });
  }

  void on_accept(const ErrorCode& error, tcp::socket socket,
                 const std::shared_ptr<IoLoop>& target) {
    if (!acceptor_.is_open()) return;
    if (!error) {
      if (failing_) LOG_INFO("accept_recovered", {{"port", port_}});
      failing_ = false;
      calling_ = true;
      accept_(std::make_shared<AsioConnection>(target, std::move(socket),
                                               Address{peer_.address().to_string(), peer_.port()}));
      calling_ = false;
      if (!acceptor_.is_open()) accept_ = nullptr;
    } else if (error != asio::error::connection_aborted) {
      return pause_after(error);
    }
    accept_next();
  }

  void pause_after(const ErrorCode& error) {
    if (!failing_) LOG_WARN("accept_failed", {{"port", port_}, {"error", error.message()}});
    failing_ = true;
    pause_.expires_after(kAcceptPause);
    pause_.async_wait([self = shared_from_this()](ErrorCode) { self->accept_next(); });
  }

  void close() {
    ErrorCode ignored;
    acceptor_.close(ignored);
    pause_.cancel();
    if (!calling_) accept_ = nullptr;
    if (member_ != 0) loop_->remove(member_);
    member_ = 0;
  }

  const std::shared_ptr<LoopChooser> loops_;
  const std::shared_ptr<IoLoop> loop_;
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  tcp::endpoint peer_;  // Of the accept under way.
  AcceptHandler accept_;
  uint16_t port_ = 0;
  uint64_t member_ = 0;
  bool failing_ = false;
  bool calling_ = false;
};

class AsioListener final : public Listener {
 public:
  AsioListener(std::shared_ptr<Acceptor> acceptor, Address address)
      : acceptor_(std::move(acceptor)), address_(std::move(address)) {}
  ~AsioListener() override { acceptor_->stop(); }
  Address address() const override { return address_; }

 private:
  const std::shared_ptr<Acceptor> acceptor_;
  const Address address_;
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
  void try_endpoints(std::vector<tcp::endpoint> endpoints) {
    if (!done_) return;
    endpoints_ = std::move(endpoints);
    asio::async_connect(socket_, endpoints_,
                        [self = shared_from_this()](ErrorCode error, const tcp::endpoint&) {
                          self->on_connect(error);
                        });
  }

  void on_connect(const ErrorCode& error) {
    if (!done_) return;
    if (error) return finish(network_error(address_, error));
    // The kernel may connect a loopback socket to itself, when the port that it picks is the one
    // asked for.
    ErrorCode unknown;
    if (socket_.local_endpoint(unknown) == socket_.remote_endpoint(unknown)) {
      return finish(network_error(address_, asio::error::connection_refused));
    }
    finish(std::shared_ptr<Connection>(
        std::make_shared<AsioConnection>(loop_, std::move(socket_), address_)));
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
  tcp::socket socket_;
  asio::steady_timer timer_;
  std::vector<tcp::endpoint> endpoints_;
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
    ASSIGN_OR_RETURN(const tcp::endpoint endpoint, find_endpoint(address));
    auto acceptor = std::make_shared<Acceptor>(loops_, std::move(accept));
    const ErrorCode error = acceptor->open(endpoint);
    if (error == asio::error::address_in_use) {
      return already_exists(fmt::format("{}: the port is in use", address.to_string()));
    }
    if (error) return network_error(address, error).with_context("cannot listen");
    acceptor->start();
    return std::unique_ptr<Listener>(
        std::make_unique<AsioListener>(acceptor, Address{address.host, acceptor->port()}));
  }

  void connect(const Address& address, Duration timeout, ConnectHandler done) override {
    // While the transport shuts down another loop may be over already, and would drop `done` unrun.
    const std::shared_ptr<IoLoop>& loop = loops_->present_or_next();
    auto connector = std::make_shared<Connector>(loop, address, timeout, std::move(done));
    loop->post([connector = std::move(connector)] { connector->start(); });
  }

 private:
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
