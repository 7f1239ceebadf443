#include "runtime/chaos/link_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "runtime/base/check.h"
#include "runtime/base/log.h"

namespace freshet::chaos {

namespace {

constexpr size_t kScratchBytes = 256 << 10;
constexpr int kAcceptedAtOnce = 64;
constexpr int kEventsAtOnce = 64;

// What epoll is given as key: a connection's number with its side, or one of the others.
constexpr uint64_t kOthers = uint64_t{1} << 63;
constexpr uint64_t kWaker = kOthers;
uint64_t key_of_proxy(size_t index) { return kOthers + 1 + index; }
uint64_t key_of_client(uint64_t number) { return number * 2; }
uint64_t key_of_target(uint64_t number) { return number * 2 + 1; }

std::unique_ptr<OwnedDescriptor> new_spare() {
  return std::make_unique<OwnedDescriptor>(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

}  // namespace

Result<std::unique_ptr<LinkLoop>> LinkLoop::create(const Options& options, const Clock& clock) {
  OwnedDescriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  OwnedDescriptor waker(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (epoll.get() < 0 || waker.get() < 0)
    return resource_exhausted(std::string("no descriptors for proxies: ") + strerror(errno));
  return std::unique_ptr<LinkLoop>(
      new LinkLoop(options, clock, std::move(epoll), std::move(waker)));
}

LinkLoop::LinkLoop(const Options& options, const Clock& clock, OwnedDescriptor epoll,
                   OwnedDescriptor waker)
    : options_(options),
      clock_(clock),
      epoll_(std::move(epoll)),
      waker_(std::move(waker)),
      spare_(new_spare()),
      scratch_(kScratchBytes, '\0') {
  uint32_t known = 0;
  watch(waker_.get(), kWaker, known, EPOLLIN);
}

Result<Address> LinkLoop::add(const std::string& name) {
  CHECK(find(name) == nullptr);
  ASSIGN_OR_RETURN(TcpSocket listener, TcpSocket::listen(options_.host));
  const Address address = listener.local_address();
  uint32_t known = 0;
  watch(listener.descriptor(), key_of_proxy(proxies_.size()), known, EPOLLIN);
  proxies_.push_back(std::make_unique<Proxy>(Proxy{name, std::move(listener), {}}));
  return address;
}

LinkLoop::Proxy* LinkLoop::find(const std::string& name) {
  for (const auto& proxy : proxies_) {
    if (proxy->name == name) return proxy.get();
  }
  return nullptr;
}

void LinkLoop::set_target(const std::string& name, const ProxyTarget& target) {
  Proxy* const proxy = find(name);
  CHECK(proxy != nullptr);
  proxy->target = target;
  advance_all();
}

LinkLoop::Broken LinkLoop::break_link(const Fault& fault) {
  Broken broken;
  for (const auto& [number, served] : connections_) {
    const auto& [from, to] = std::pair(served.connection.from(), served.connection.to());
    broken.connections +=
        LinkFaults::concerns(fault.link, from, to) || LinkFaults::concerns(fault.link, to, from);
  }
  broken.number = faults_.add(fault, clock_.now());
  advance_all();
  return broken;
}

void LinkLoop::heal(uint64_t number) {
  faults_.remove(number);
  advance_all();
}

void LinkLoop::heal_all() {
  faults_.clear();
  advance_all();
}

std::vector<LinkCounters> LinkLoop::counters() const {
  std::vector<LinkCounters> all;
  for (const auto& [ends, counters] : counters_) all.push_back(counters);
  return all;
}

LinkCounters& LinkLoop::counters_of(const std::string& from, const std::string& to) {
  LinkCounters& counters = counters_[{from, to}];
  counters.from = from;
  counters.to = to;
  return counters;
}

void LinkLoop::wake() const {
  const uint64_t one = 1;
  (void)!write(waker_.get(), &one, sizeof(one));
}

void LinkLoop::step() {
  std::array<epoll_event, kEventsAtOnce> events;
  const int count = epoll_wait(epoll_.get(), events.data(), kEventsAtOnce, wait_millis());
  for (int i = 0; i < count; ++i) {
    const uint64_t key = events[static_cast<size_t>(i)].data.u64;
    if (key == kWaker) {
      uint64_t woken = 0;
      (void)!read(waker_.get(), &woken, sizeof(woken));
    } else if (key > kWaker) {
      accept_all(*proxies_[key - key_of_proxy(0)]);
    } else if (const auto found = connections_.find(key / 2); found != connections_.end()) {
      advance(found);
    }
  }
  advance_due();
}

int LinkLoop::wait_millis() const {
  std::optional<TimePoint> next = faults_change_at_;
  for (const auto& [number, at] : wakes_) next = std::min(next.value_or(at), at);
  if (!next) return -1;
  const Duration wait = *next - clock_.now();
  if (wait <= Duration(0)) return 0;
  return static_cast<int>(std::min<int64_t>((wait + 999us) / 1ms, 60'000));
}

void LinkLoop::advance_due() {
  const TimePoint now = clock_.now();
  if (faults_change_at_ && *faults_change_at_ <= now) return advance_all();
  std::vector<uint64_t> due;
  for (const auto& [number, at] : wakes_) {
    if (at <= now) due.push_back(number);
  }
  for (const uint64_t number : due) {
    if (const auto found = connections_.find(number); found != connections_.end()) advance(found);
  }
}

void LinkLoop::advance_all() {
  faults_change_at_ = faults_.next_change(clock_.now());
  for (auto at = connections_.begin(); at != connections_.end();) at = advance(at);
}

LinkLoop::Connections::iterator LinkLoop::advance(Connections::iterator at) {
  auto& [number, served] = *at;
  ProxiedConnection& connection = served.connection;
  const TimePoint now = clock_.now();
  const bool lives = connection.advance({faults_.effect(connection.from(), connection.to(), now),
                                         faults_.effect(connection.to(), connection.from(), now),
                                         served.proxy.target, now, scratch_});
  wakes_.erase(number);
  if (!lives) return connections_.erase(at);  // What is closed, epoll forgets.
  if (const auto wakes_at = connection.wakes_at()) wakes_[number] = *wakes_at;
  watch(connection.client(), key_of_client(number), served.client_events,
        connection.events_of_client());
  watch(connection.target(), key_of_target(number), served.target_events,
        connection.events_of_target());
  return std::next(at);
}

/// One that waits for nothing is not known at all: of errors epoll would tell again and again.
void LinkLoop::watch(int descriptor, uint64_t key, uint32_t& known, uint32_t wanted) {
  if (known == wanted) return;
  epoll_event event{};
  event.events = wanted;
  event.data.u64 = key;
  const int change = wanted == 0 ? EPOLL_CTL_DEL : known == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  CHECK(epoll_ctl(epoll_.get(), change, descriptor, &event) == 0);
  known = wanted;
}

void LinkLoop::accept_all(Proxy& proxy) {
  for (int i = 0; i < kAcceptedAtOnce; ++i) {
    auto accepted = proxy.listener.accept();
    if (!accepted.ok()) {
      LOG_WARN("link_refused", {{"to", proxy.name}, {"cause", accepted.status()}});
      spare_.reset();
      auto refused = proxy.listener.accept();
      if (refused.ok() && *refused) (*refused)->reset();
      spare_ = new_spare();
      return;
    }
    if (!*accepted) return;
    accept_one(proxy, std::move(**accepted));
  }
}

void LinkLoop::accept_one(Proxy& proxy, TcpSocket accepted) {
  // The client's end is `local` to the client.
  const std::string from =
      options_.name_of ? options_.name_of({accepted.peer_address(), accepted.local_address()}) : "";
  LinkCounters& there = counters_of(from, proxy.name);
  if (connections_.size() >= options_.connections_max) {
    ++there.refused;
    return accepted.reset();
  }
  const auto [at, added] = connections_.emplace(
      next_connection_++, Served{ProxiedConnection(std::move(accepted), there,
                                                   counters_of(proxy.name, from), clock_.now()),
                                 proxy});
  advance(at);
}

}  // namespace freshet::chaos
