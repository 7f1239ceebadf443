#include "tests/sim/sim_network.h"

#include <algorithm>
#include <deque>

#include "runtime/base/check.h"

namespace freshet::sim {

namespace {

constexpr uint64_t kNetworkOwner = 0;
constexpr uint16_t kFirstFreePort = 40'000;
constexpr uint64_t kChunksMax = 4;  // A send arrives in up to so many reads.

using Pair = std::pair<SimProcessId, SimProcessId>;

Pair pair_of(SimProcessId a, SimProcessId b) { return a < b ? Pair(a, b) : Pair(b, a); }

Address normal(const Address& address) {
  return address.host == "localhost" ? Address{"127.0.0.1", address.port} : address;
}

}  // namespace

struct SimNetwork::Endpoint {
  SimProcessId id;
  std::shared_ptr<const Liveness> process;
  SimExecutor* executor;
};

struct SimNetwork::State {
  struct Port {
    uint64_t number;
    Endpoint owner;
    std::shared_ptr<AcceptHandler> accept;
  };
  struct Wire {
    std::shared_ptr<End> near;
    std::shared_ptr<End> far;
  };

  struct Road {
    Way way;
    TimePoint free_at{};  // When all that was sent has passed, at its rate.
  };

  explicit State(SimEventQueue& event_queue) : queue(event_queue) {}

  Duration latency() {
    const auto spread = static_cast<uint64_t>((latency_max - latency_min).count());
    return latency_min + Duration(queue.random().below(spread + 1));
  }

  /// When something sent now from one to the other is there.
  TimePoint arrival(SimProcessId a, SimProcessId b, size_t bytes) {
    TimePoint time = queue.now() + latency();
    const auto clog = clogs.find(pair_of(a, b));
    if (clog != clogs.end()) time = std::max(time, clog->second);
    const auto found = ways.find(Pair(a, b));
    if (found == ways.end()) return time;
    Road& road = found->second;
    if (road.way.bytes_per_second > 0) {
      const auto nanos = static_cast<int64_t>(bytes * 1'000'000'000 / road.way.bytes_per_second);
      road.free_at = std::max(road.free_at, queue.now()) + Duration(nanos);
      time = std::max(time, road.free_at);
    }
    return time + road.way.delay;
  }

  const Way* way(SimProcessId from, SimProcessId to) const {
    const auto found = ways.find(Pair(from, to));
    return found == ways.end() ? nullptr : &found->second.way;
  }
  bool is_held(SimProcessId from, SimProcessId to) const {
    const Way* const found = way(from, to);
    return found != nullptr && found->held;
  }
  /// A connection has both ways.
  bool is_refused(SimProcessId a, SimProcessId b) const {
    const Way* const there = way(a, b);
    const Way* const back = way(b, a);
    return (there != nullptr && there->refused) || (back != nullptr && back->refused);
  }

  bool is_split(SimProcessId a, SimProcessId b) const { return splits.contains(pair_of(a, b)); }

  void reset(Wire& wire);
  void forget_closed();

  SimEventQueue& queue;
  Duration latency_min = 20us;
  Duration latency_max = 500us;
  std::map<Address, Port> ports;
  std::map<uint64_t, Wire>
      wires;  // By number, so that faults meet them in the order of their making.
  std::map<Pair, TimePoint> clogs;
  std::set<Pair> splits;
  std::map<Pair, Road> ways;
  std::map<Pair, uint64_t> cuts;  // From, to: bytes that still pass.
  Watcher watcher;
  Rewriter rewriter;
  uint64_t next_number = 1;
  uint16_t next_port = kFirstFreePort;
};

/// One end of a connection: what its process sees of it, and what is under way to it.
class SimNetwork::End final : public std::enable_shared_from_this<End> {
 public:
  End(std::shared_ptr<State> state, Endpoint owner, Address local, Address remote)
      : state_(std::move(state)),
        owner_(std::move(owner)),
        local_(std::move(local)),
        remote_(std::move(remote)) {}

  void join(const std::shared_ptr<End>& peer) {
    peer_ = peer;
    peer_process_ = peer->process();
  }

  void start(std::shared_ptr<ConnectionHandler> handler);
  void send(std::vector<OutgoingBytes> pieces);
  void close() { finish(aborted("connection closed by this side")); }
  Address local_address() const { return local_; }
  Address remote_address() const { return remote_; }

  SimProcessId process() const { return owner_.id; }
  bool closed() const { return closed_; }

  /// Nothing is handed on before that; see SimNetwork::hold().
  void hold_until(TimePoint time) { held_until_ = std::max(held_until_, time); }

  /// What is due is handed on, unless it cannot be yet.
  void release();

  /// From now on nothing arrives any more and nobody is told, until come_to_light() resets it.
  void go_dark() { dark_ = true; }
  void come_to_light();

  /// The connection ends here after a part of what is under way, by chance; `why` is told then.
  void lose(const Status& why);

  /// The end of a dead process.
  std::shared_ptr<ConnectionHandler> abandon() {
    closed_ = true;
    arrivals_.clear();
    return std::move(handler_);
  }

 private:
  struct Arrival {
    std::string bytes;
    bool is_close = false;
    Status why;
  };

  void arrive(TimePoint when, Arrival arrival);
  void take_next();
  void send_chunks(const std::string& bytes, End& peer);
  void cut_arrivals();
  void finish(const Status& why);
  void tell_closed(const Status& why);
  bool dead() const { return closed_ || !owner_.process->alive; }

  const std::shared_ptr<State> state_;
  const Endpoint owner_;
  const Address local_;
  const Address remote_;
  std::weak_ptr<End> peer_;
  SimProcessId peer_process_;
  std::shared_ptr<ConnectionHandler> handler_;
  std::deque<Arrival> arrivals_;
  size_t due_ = 0;            // Arrivals whose time came before start(), or on a way that is held.
  TimePoint last_arrival_{};  // Order holds within a connection.
  TimePoint held_until_{};
  bool sending_ = false;
  bool closed_ = false;
  bool dark_ = false;
};

/// What product code holds of an end.
class SimNetwork::Handle final : public Connection {
 public:
  explicit Handle(std::shared_ptr<End> end) : end_(std::move(end)) {}
  ~Handle() override {
    if (!started_) end_->close();
  }

  void start(std::shared_ptr<ConnectionHandler> handler) override {
    started_ = true;
    end_->start(std::move(handler));
  }
  void send(std::vector<OutgoingBytes> pieces) override { end_->send(std::move(pieces)); }
  void close() override { end_->close(); }
  Address local_address() const override { return end_->local_address(); }
  Address remote_address() const override { return end_->remote_address(); }

 private:
  const std::shared_ptr<End> end_;
  bool started_ = false;
};

void SimNetwork::End::start(std::shared_ptr<ConnectionHandler> handler) {
  CHECK(handler_ == nullptr);
  handler_ = std::move(handler);
  release();
}

void SimNetwork::End::release() {
  for (; due_ > 0; --due_) {
    owner_.executor->run_at(state_->queue.now(), "connection.bytes",
                            [self = shared_from_this()] { self->take_next(); });
  }
}

void SimNetwork::End::arrive(TimePoint when, Arrival arrival) {
  if (dark_ || dead()) return;
  last_arrival_ = std::max(last_arrival_, when);
  arrivals_.push_back(std::move(arrival));
  owner_.executor->run_at(last_arrival_, "connection.bytes",
                          [self = shared_from_this()] { self->take_next(); });
}

void SimNetwork::End::take_next() {
  if (dead() || arrivals_.empty()) return;
  if (handler_ == nullptr || state_->is_held(peer_process_, owner_.id)) {
    ++due_;
    return;
  }
  if (state_->queue.now() < held_until_) {
    owner_.executor->run_at(held_until_, "connection.held",
                            [self = shared_from_this()] { self->take_next(); });
    return;
  }
  const Arrival arrival = std::move(arrivals_.front());
  arrivals_.pop_front();
  if (arrival.is_close) {
    closed_ = true;
    tell_closed(arrival.why);
    return;
  }
  const Status status = handler_->on_bytes(arrival.bytes);
  if (!status.ok()) finish(status);
}

void SimNetwork::End::send(std::vector<OutgoingBytes> pieces) {
  if (dead()) return;
  CHECK(!sending_);
  sending_ = true;
  std::string bytes;
  for (const OutgoingBytes& piece : pieces) bytes += piece.bytes;
  const std::shared_ptr<End> peer = peer_.lock();
  if (peer == nullptr || dark_) return;  // Never leaves, as with a full socket.
  if (state_->rewriter) bytes = state_->rewriter(owner_.id, peer->owner_.id, pieces);
  const auto cut = state_->cuts.find(Pair(owner_.id, peer->owner_.id));
  const bool is_cut = cut != state_->cuts.end() && cut->second <= bytes.size();
  if (is_cut) {
    bytes.resize(cut->second);
    state_->cuts.erase(cut);
  } else if (cut != state_->cuts.end()) {
    cut->second -= bytes.size();
  }
  if (state_->watcher) state_->watcher(owner_.id, peer->owner_.id, local_, remote_, bytes);
  send_chunks(bytes, *peer);
  if (is_cut) {
    const Status why = unavailable(remote_.to_string() + ": connection reset by peer");
    peer->arrive(state_->arrival(owner_.id, peer->owner_.id, 0), Arrival{"", true, why});
    lose(why);
    return;
  }
  owner_.executor->run_at(peer->last_arrival_, "connection.sent", [self = shared_from_this()] {
    if (self->dead() || self->dark_) return;
    self->sending_ = false;
    if (self->handler_ != nullptr) self->handler_->on_sent();
  });
}

void SimNetwork::End::send_chunks(const std::string& bytes, End& peer) {
  Random& random = state_->queue.random();
  const uint64_t chunks = 1 + random.below(kChunksMax);
  size_t at = 0;
  for (uint64_t i = 1; i <= chunks && at < bytes.size(); ++i) {
    const size_t left = bytes.size() - at;
    const size_t size = i == chunks ? left : 1 + random.below(left);
    peer.arrive(state_->arrival(owner_.id, peer.owner_.id, size),
                Arrival{bytes.substr(at, size), false, {}});
    at += size;
  }
}

void SimNetwork::End::cut_arrivals() {
  size_t total = 0;
  for (const Arrival& arrival : arrivals_) total += arrival.bytes.size();
  size_t kept = state_->queue.random().below(total + 1);
  for (auto it = arrivals_.begin(); it != arrivals_.end(); ++it) {
    if (it->bytes.size() <= kept && !it->is_close) {
      kept -= it->bytes.size();
      continue;
    }
    it->bytes.resize(it->is_close ? 0 : kept);
    arrivals_.erase(it->bytes.empty() ? it : it + 1, arrivals_.end());
    return;
  }
}

void SimNetwork::End::lose(const Status& why) {
  if (dark_ || dead()) return;
  cut_arrivals();
  arrive(state_->queue.now() + state_->latency(), Arrival{"", true, why});
}

void SimNetwork::End::come_to_light() {
  if (!dark_) return;
  dark_ = false;
  lose(unavailable(remote_.to_string() + ": connection timed out"));
}

void SimNetwork::End::finish(const Status& why) {
  if (dead()) return;
  closed_ = true;
  const bool unread = !arrivals_.empty();
  arrivals_.clear();
  if (const std::shared_ptr<End> peer = peer_.lock(); peer != nullptr && !dark_) {
    // As with TCP: to close with bytes unread resets, and what had not left is lost.
    if (unread) {
      peer->lose(unavailable(peer->remote_.to_string() + ": connection reset by peer"));
    } else {
      if (sending_) peer->cut_arrivals();
      peer->arrive(state_->arrival(owner_.id, peer->owner_.id, 0), Arrival{"", true, Status()});
    }
  }
  owner_.executor->run_at(state_->queue.now(), "connection.closed",
                          [self = shared_from_this(), why] { self->tell_closed(why); });
}

void SimNetwork::End::tell_closed(const Status& why) {
  const std::shared_ptr<ConnectionHandler> handler = std::move(handler_);
  if (handler != nullptr) handler->on_closed(why);
}

void SimNetwork::State::reset(Wire& wire) {
  wire.near->lose(
      unavailable(wire.near->remote_address().to_string() + ": connection reset by peer"));
  wire.far->lose(
      unavailable(wire.far->remote_address().to_string() + ": connection reset by peer"));
}

void SimNetwork::State::forget_closed() {
  std::erase_if(wires, [](const auto& entry) {
    return entry.second.near->closed() && entry.second.far->closed();
  });
}

class SimNetwork::SimListener final : public Listener {
 public:
  SimListener(std::shared_ptr<State> state, Address address, uint64_t number)
      : state_(std::move(state)), address_(std::move(address)), number_(number) {}
  ~SimListener() override {
    const auto it = state_->ports.find(address_);
    if (it != state_->ports.end() && it->second.number == number_) state_->ports.erase(it);
  }
  Address address() const override { return address_; }

 private:
  const std::shared_ptr<State> state_;
  const Address address_;
  const uint64_t number_;
};

class SimNetwork::SimTransport final : public Transport {
 public:
  SimTransport(std::shared_ptr<State> state, Endpoint owner)
      : state_(std::move(state)), owner_(std::move(owner)) {}

  Result<std::unique_ptr<Listener>> listen(const Address& address, AcceptHandler accept) override;
  void connect(const Address& address, Duration timeout, ConnectHandler done) override;

 private:
  struct Attempt {
    Endpoint owner;
    Address address;
    TimePoint deadline;
    std::shared_ptr<ConnectHandler> done;
  };

  static void knock(const std::shared_ptr<State>& state, const Attempt& attempt);
  static void answer(const Attempt& attempt, TimePoint when, Status why);
  static void join(const std::shared_ptr<State>& state, const Attempt& attempt,
                   const State::Port& port);

  const std::shared_ptr<State> state_;
  const Endpoint owner_;
};

Result<std::unique_ptr<Listener>> SimNetwork::SimTransport::listen(const Address& wanted,
                                                                   AcceptHandler accept) {
  if (!owner_.process->alive) return aborted("the process is dead");
  Address address = normal(wanted);
  while (address.port == 0 || (wanted.port == 0 && state_->ports.contains(address))) {
    address.port = state_->next_port;
    state_->next_port = state_->next_port == 0xFFFF ? kFirstFreePort : state_->next_port + 1;
  }
  if (state_->ports.contains(address)) return already_exists(address.to_string() + ": port in use");
  const uint64_t number = state_->next_number++;
  auto handler = std::make_shared<AcceptHandler>(std::move(accept));
  state_->ports.emplace(address, State::Port{number, owner_, std::move(handler)});
  return std::unique_ptr<Listener>(std::make_unique<SimListener>(state_, address, number));
}

void SimNetwork::SimTransport::connect(const Address& address, Duration timeout,
                                       ConnectHandler done) {
  if (!owner_.process->alive) return;
  const Attempt attempt{owner_, normal(address), state_->queue.now() + timeout,
                        std::make_shared<ConnectHandler>(std::move(done))};
  state_->queue.add(state_->queue.now() + state_->latency(), kNetworkOwner, "network.connect",
                    [state = state_, attempt] { knock(state, attempt); });
}

void SimNetwork::SimTransport::answer(const Attempt& attempt, TimePoint when, Status why) {
  attempt.owner.executor->run_at(when, "connection.refused",
                                 [done = attempt.done, why] { (*done)(why); });
}

void SimNetwork::SimTransport::knock(const std::shared_ptr<State>& state, const Attempt& attempt) {
  if (!attempt.owner.process->alive) return;
  const std::string name = attempt.address.to_string();
  const auto port = state->ports.find(attempt.address);
  if (port == state->ports.end()) {
    answer(attempt, state->queue.now() + state->latency(),
           unavailable(name + ": connection refused"));
    return;
  }
  const SimProcessId listener = port->second.owner.id;
  if (state->is_refused(attempt.owner.id, listener)) {
    answer(attempt, state->queue.now() + state->latency(),
           unavailable(name + ": connection refused"));
    return;
  }
  const auto clog = state->clogs.find(pair_of(attempt.owner.id, listener));
  const bool clogged = clog != state->clogs.end() && clog->second > state->queue.now();
  if (state->is_split(attempt.owner.id, listener) || (clogged && clog->second > attempt.deadline)) {
    answer(attempt, attempt.deadline, deadline_exceeded(name + ": no answer in time"));
  } else if (clogged) {
    state->queue.add(clog->second, kNetworkOwner, "network.connect",
                     [state, attempt] { knock(state, attempt); });
  } else {
    join(state, attempt, port->second);
  }
}

void SimNetwork::SimTransport::join(const std::shared_ptr<State>& state, const Attempt& attempt,
                                    const State::Port& port) {
  state->forget_closed();
  const Address caller{"127.0.0.1", static_cast<uint16_t>(1024 + attempt.owner.id.value % 30'000)};
  auto near = std::make_shared<End>(state, attempt.owner, caller, attempt.address);
  auto far = std::make_shared<End>(state, port.owner, attempt.address, caller);
  near->join(far);
  far->join(near);
  state->wires.emplace(state->next_number++, State::Wire{near, far});
  port.owner.executor->run_at(
      state->queue.now(), "connection.accepted",
      [accept = port.accept, far] { (*accept)(std::make_shared<Handle>(far)); });
  attempt.owner.executor->run_at(
      state->queue.now() + state->latency(), "connection.made", [done = attempt.done, near] {
        (*done)(std::shared_ptr<Connection>(std::make_shared<Handle>(near)));
      });
}

SimNetwork::SimNetwork(SimEventQueue& queue) : state_(std::make_shared<State>(queue)) {}

SimNetwork::~SimNetwork() {
  state_->ports.clear();
  state_->wires.clear();
}

std::unique_ptr<Transport> SimNetwork::make_transport(SimProcessId id,
                                                      std::shared_ptr<const Liveness> process,
                                                      SimExecutor& executor) {
  return std::make_unique<SimTransport>(state_, Endpoint{id, std::move(process), &executor});
}

void SimNetwork::set_latency(Duration minimum, Duration maximum) {
  CHECK(minimum <= maximum);
  state_->latency_min = minimum;
  state_->latency_max = maximum;
}

void SimNetwork::clog(SimProcessId a, SimProcessId b, Duration duration) {
  TimePoint& until = state_->clogs[pair_of(a, b)];
  until = std::max(until, state_->queue.now() + duration);
}

size_t SimNetwork::hold(SimProcessId from, SimProcessId to, Duration duration) {
  size_t count = 0;
  for (auto& [number, wire] : state_->wires) {
    for (const auto& [sender, receiver] :
         {std::pair(wire.near, wire.far), std::pair(wire.far, wire.near)}) {
      if (sender->process() != from || receiver->process() != to || receiver->closed()) continue;
      receiver->hold_until(state_->queue.now() + duration);
      ++count;
    }
  }
  return count;
}

void SimNetwork::split(SimProcessId a, SimProcessId b) {
  state_->splits.insert(pair_of(a, b));
  for (auto& [number, wire] : state_->wires) {
    if (pair_of(wire.near->process(), wire.far->process()) != pair_of(a, b)) continue;
    wire.near->go_dark();
    wire.far->go_dark();
  }
}

void SimNetwork::heal(SimProcessId a, SimProcessId b) {
  state_->splits.erase(pair_of(a, b));
  state_->clogs.erase(pair_of(a, b));
  for (auto& [number, wire] : state_->wires) {
    if (pair_of(wire.near->process(), wire.far->process()) != pair_of(a, b)) continue;
    wire.near->come_to_light();
    wire.far->come_to_light();
  }
}

size_t SimNetwork::reset(SimProcessId a, SimProcessId b) {
  size_t count = 0;
  state_->forget_closed();
  for (auto& [number, wire] : state_->wires) {
    if (pair_of(wire.near->process(), wire.far->process()) != pair_of(a, b)) continue;
    state_->reset(wire);
    ++count;
  }
  return count;
}

void SimNetwork::set_way(SimProcessId from, SimProcessId to, const Way& way) {
  const Way* const found = state_->way(from, to);
  const Way before = found == nullptr ? Way() : *found;
  if (way == before) return;
  state_->ways[Pair(from, to)] = {way, {}};
  if (way.refused && !before.refused) reset(from, to);
  if (way.held || !before.held) return;
  for (auto& [number, wire] : state_->wires) {
    if (wire.near->process() == from && wire.far->process() == to) wire.far->release();
    if (wire.far->process() == from && wire.near->process() == to) wire.near->release();
  }
}

void SimNetwork::cut_after(SimProcessId from, SimProcessId to, uint64_t bytes) {
  state_->cuts[Pair(from, to)] = bytes;
}

void SimNetwork::watch(Watcher watcher) { state_->watcher = std::move(watcher); }

void SimNetwork::rewrite(Rewriter rewriter) { state_->rewriter = std::move(rewriter); }

bool SimNetwork::cut_is_due(SimProcessId from, SimProcessId to) const {
  return state_->cuts.contains(Pair(from, to));
}

void SimNetwork::drop(SimProcessId id, bool told) {
  std::erase_if(state_->ports, [id](const auto& entry) { return entry.second.owner.id == id; });
  for (auto& [number, wire] : state_->wires) {
    for (const auto& [mine, other] :
         {std::pair(wire.near, wire.far), std::pair(wire.far, wire.near)}) {
      if (mine->process() != id) continue;
      mine->go_dark();
      if (told) {
        other->lose(
            unavailable(other->remote_address().to_string() + ": connection reset by peer"));
      } else {
        other->go_dark();
      }
    }
  }
}

std::vector<std::shared_ptr<ConnectionHandler>> SimNetwork::take_handlers(SimProcessId id) {
  std::vector<std::shared_ptr<ConnectionHandler>> handlers;
  for (auto& [number, wire] : state_->wires) {
    for (const std::shared_ptr<End>& end : {wire.near, wire.far}) {
      if (end->process() != id) continue;
      if (auto handler = end->abandon()) handlers.push_back(std::move(handler));
    }
  }
  state_->forget_closed();
  return handlers;
}

size_t SimNetwork::open_connections() const {
  return static_cast<size_t>(
      std::count_if(state_->wires.begin(), state_->wires.end(), [](const auto& entry) {
        return !entry.second.near->closed() && !entry.second.far->closed();
      }));
}

}  // namespace freshet::sim
