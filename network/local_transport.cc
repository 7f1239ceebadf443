#include "network/local_transport.h"

#include <fmt/format.h>

#include <array>
#include <mutex>
#include <optional>

#include "runtime/base/check.h"

namespace freshet {

namespace {

constexpr uint16_t kFirstFreePort = 49152;

Address canonical(const Address& address) {
  return address.host == "localhost" ? Address{"127.0.0.1", address.port} : address;
}

/// Both directions of one connection. Functions are called from any thread; handlers run on the
/// executor, without the lock.
class LocalLink : public std::enable_shared_from_this<LocalLink> {
 public:
  LocalLink(Executor& executor, Address address_of_first, Address address_of_second)
      : executor_(executor) {
    sides_[0].remote = std::move(address_of_second);
    sides_[1].remote = std::move(address_of_first);
  }

  void start(size_t side, std::shared_ptr<ConnectionHandler> handler) {
    std::unique_lock lock(mutex_);
    Side& self = sides_[side];
    CHECK(!self.started);
    self.started = true;
    self.handler = std::move(handler);
    if (self.why.has_value()) return post_closed(self, lock);
    if (self.sent_before_start) post_confirmation(side);
    if (sides_[1 - side].sending) post_delivery(side);
  }

  void send(size_t side, std::vector<OutgoingBytes> pieces) {
    std::lock_guard lock(mutex_);
    Side& self = sides_[side];
    if (self.why.has_value()) return;
    CHECK(!self.sending);
    self.sending = true;
    self.outgoing = std::move(pieces);
    if (sides_[1 - side].started) post_delivery(1 - side);
  }

  void close(size_t side, Status why) {
    std::vector<OutgoingBytes> dropped[2];  // Let go outside the lock.
    std::unique_lock lock(mutex_);
    Side& self = sides_[side];
    if (self.why.has_value()) return;
    for (size_t i = 0; i < 2; ++i) dropped[i].swap(sides_[i].outgoing);
    self.why = std::move(why);
    executor_.post("local_end", [link = shared_from_this(), peer = 1 - side] { link->end(peer); });
    post_closed(self, lock);
  }

  void close_unstarted(size_t side) {
    {
      std::lock_guard lock(mutex_);
      if (sides_[side].started) return;
    }
    close(side, aborted("never started"));
  }

  Address remote_address(size_t side) const { return sides_[side].remote; }

 private:
  struct Side {
    Address remote;                              // Constant.
    std::shared_ptr<ConnectionHandler> handler;  // Until on_closed() is on its way.
    std::vector<OutgoingBytes> outgoing;         // Of the send under way, until the peer takes it.
    std::optional<Status> why;                   // Once closed.
    bool started = false;
    bool sending = false;            // A send() is not confirmed yet.
    bool sent_before_start = false;  // It is to be confirmed once there is somebody to hear it.
  };

  /// Unlocks: an executor that has stopped destroys the function, and the handler with it, at once.
  void post_closed(Side& self, std::unique_lock<std::mutex>& lock) {
    if (!self.started) return;
    auto event = [handler = std::move(self.handler), why = *self.why] { handler->on_closed(why); };
    lock.unlock();
    executor_.post("local_closed", std::move(event));
  }

  void post_delivery(size_t receiver) {
    executor_.post("local_bytes",
                   [link = shared_from_this(), receiver] { link->deliver(receiver); });
  }

  void post_confirmation(size_t sender) {
    executor_.post("local_sent", [link = shared_from_this(), sender] { link->confirm(sender); });
  }

  /// The peer of `side` closed.
  void end(size_t side) {
    std::vector<OutgoingBytes> dropped;
    std::unique_lock lock(mutex_);
    Side& self = sides_[side];
    if (self.why.has_value()) return;
    dropped.swap(self.outgoing);
    self.why = Status();
    post_closed(self, lock);
  }

  void deliver(size_t receiver) {
    std::vector<OutgoingBytes> pieces;
    std::shared_ptr<ConnectionHandler> handler;
    {
      std::lock_guard lock(mutex_);
      if (sides_[receiver].why.has_value() || sides_[1 - receiver].why.has_value()) return;
      handler = sides_[receiver].handler;
      pieces.swap(sides_[1 - receiver].outgoing);
    }
    for (OutgoingBytes& piece : pieces) {
      if (is_closed(receiver)) return;
      if (!piece.bytes.empty()) {
        if (Status status = handler->on_bytes(piece.bytes); !status.ok())
          return close(receiver, std::move(status));
      }
      piece = {};
    }
    post_confirmation(1 - receiver);
  }

  void confirm(size_t sender) {
    std::shared_ptr<ConnectionHandler> handler;
    {
      std::lock_guard lock(mutex_);
      Side& self = sides_[sender];
      if (self.why.has_value()) return;
      self.sent_before_start = !self.started;
      if (!self.started) return;
      self.sending = false;
      handler = self.handler;
    }
    handler->on_sent();
  }

  bool is_closed(size_t side) const {
    std::lock_guard lock(mutex_);
    return sides_[side].why.has_value();
  }

  Executor& executor_;
  mutable std::mutex mutex_;  // Orders calls from outside and events.
  std::array<Side, 2> sides_;
};

class LocalConnection final : public Connection {
 public:
  LocalConnection(std::shared_ptr<LocalLink> link, size_t side)
      : link_(std::move(link)), side_(side) {}
  ~LocalConnection() override { link_->close_unstarted(side_); }

  void start(std::shared_ptr<ConnectionHandler> handler) override {
    link_->start(side_, std::move(handler));
  }
  void send(std::vector<OutgoingBytes> pieces) override { link_->send(side_, std::move(pieces)); }
  void close() override {
    link_->close(side_,
                 aborted(fmt::format("{}: closed by this side", remote_address().to_string())));
  }
  Address local_address() const override { return link_->remote_address(1 - side_); }
  Address remote_address() const override { return link_->remote_address(side_); }

 private:
  const std::shared_ptr<LocalLink> link_;
  const size_t side_;
};

}  // namespace

/// The open ports, and the links for the end of the transport.
struct LocalTransport::Registry {
  struct Port {
    AcceptHandler accept;  // Called on the executor only.
  };

  std::mutex mutex;
  std::map<Address, std::shared_ptr<Port>> ports;
  std::vector<std::weak_ptr<LocalLink>> links;
  uint16_t next_port = kFirstFreePort;
  bool stopped = false;

  /// With the lock held. Zero when all are taken.
  uint16_t free_port(const std::string& host) {
    constexpr int kPorts = 65536 - kFirstFreePort;
    for (int i = 0; i < kPorts; ++i) {
      const uint16_t port = next_port;
      next_port = port == 65535 ? kFirstFreePort : static_cast<uint16_t>(port + 1);
      if (!ports.contains(Address{host, port})) return port;
    }
    return 0;
  }

  void add_link(const std::shared_ptr<LocalLink>& link) {
    if (links.size() ==
        links.capacity()) {  // Before it grows, so that dead ones cost nothing in the long run.
      std::erase_if(links, [](const auto& entry) { return entry.expired(); });
    }
    links.push_back(link);
  }
};

class LocalTransport::LocalListener final : public Listener {
 public:
  LocalListener(std::shared_ptr<Registry> registry, Address address, Address shown)
      : registry_(std::move(registry)), address_(std::move(address)), shown_(std::move(shown)) {}

  ~LocalListener() override {
    std::shared_ptr<Registry::Port> port;  // Let go outside the lock.
    std::lock_guard lock(registry_->mutex);
    const auto found = registry_->ports.find(address_);
    if (found == registry_->ports.end()) return;
    port = std::move(found->second);
    registry_->ports.erase(found);
  }

  Address address() const override { return shown_; }

 private:
  const std::shared_ptr<Registry> registry_;
  const Address address_;
  const Address shown_;
};

LocalTransport::LocalTransport(Executor& executor)
    : executor_(executor), registry_(std::make_shared<Registry>()) {}

LocalTransport::~LocalTransport() {
  std::vector<std::weak_ptr<LocalLink>> links;
  std::map<Address, std::shared_ptr<Registry::Port>> ports;
  {
    std::lock_guard lock(registry_->mutex);
    registry_->stopped = true;
    links.swap(registry_->links);
    ports.swap(registry_->ports);
  }
  for (const auto& weak : links) {
    const std::shared_ptr<LocalLink> link = weak.lock();
    if (!link) continue;
    for (size_t side = 0; side < 2; ++side)
      link->close(side, aborted("the transport is shutting down"));
  }
}

Result<std::unique_ptr<Listener>> LocalTransport::listen(const Address& address,
                                                         AcceptHandler accept) {
  Address actual = canonical(address);
  std::lock_guard lock(registry_->mutex);
  const bool needs_port = !address.is_unix();
  if (needs_port && actual.port == 0) actual.port = registry_->free_port(actual.host);
  if (needs_port && actual.port == 0)
    return resource_exhausted(fmt::format("{}: no port is free", address.to_string()));
  auto port = std::make_shared<Registry::Port>(Registry::Port{std::move(accept)});
  if (!registry_->ports.emplace(actual, std::move(port)).second) {
    return already_exists(fmt::format("{}: the port is in use", address.to_string()));
  }
  const Address shown{address.host, actual.port, address.unix_socket};
  return std::unique_ptr<Listener>(std::make_unique<LocalListener>(registry_, actual, shown));
}

void LocalTransport::connect(const Address& address, Duration, ConnectHandler done) {
  auto event = [registry = registry_, &executor = executor_, address,
                done = std::move(done)]() mutable {
    std::shared_ptr<Registry::Port> port;
    std::shared_ptr<LocalLink> link;
    bool stopped = false;
    {
      std::lock_guard lock(registry->mutex);
      stopped = registry->stopped;
      const auto found = registry->ports.find(canonical(address));
      if (found != registry->ports.end()) {
        port = found->second;
        const Address from{"127.0.0.1", registry->free_port("127.0.0.1")};
        link = std::make_shared<LocalLink>(executor, from, address);
        registry->add_link(link);
      }
    }
    if (stopped)
      return done(aborted(fmt::format("{}: the transport is shutting down", address.to_string())));
    if (!port) return done(unavailable(fmt::format("{}: Connection refused", address.to_string())));
    executor.post("local_connected", [link, done = std::move(done)]() mutable {
      done(std::shared_ptr<Connection>(std::make_shared<LocalConnection>(link, 0)));
    });
    port->accept(std::make_shared<LocalConnection>(link, 1));
  };
  executor_.post("local_connect", std::move(event));
}

}  // namespace freshet
