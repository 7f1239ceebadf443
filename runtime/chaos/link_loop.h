#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "network/unix_socket.h"
#include "runtime/base/clock.h"
#include "runtime/chaos/link_faults.h"
#include "runtime/chaos/proxied_connection.h"

namespace freshet::chaos {

/// All proxies with all their connections, in one thread that never blocks but in step(): no
/// function but wake() may be called by others meanwhile.
class LinkLoop {
 public:
  struct Options {
    std::string host = "127.0.0.1";  // That proxies listen on.
    size_t connections_max = 1000;   // Of all proxies; more are refused.
    /// The name of the process that has the `local` end, a client's; empty: none of the cluster,
    /// and then no fault concerns the connection. Called once for each.
    std::function<std::string(const ConnectionEnds&)> name_of;
  };
  /// Its faults, or the address they lead to, by name.
  static Result<std::unique_ptr<LinkLoop>> create(const Options&, const Clock&);

  /// Listens before that process; connections wait until it has a target.
  Result<Address> add(const std::string& name);
  /// Of connections that are made from now on. CHECKs that it was added.
  void set_target(const std::string& name, const ProxyTarget&);

  struct Broken {
    uint64_t number = 0;     // Of the fault, to take it back.
    size_t connections = 0;  // That it met.
  };
  Broken break_link(const Fault&);
  void heal(uint64_t number);
  void heal_all();

  /// Per direction, ordered by names.
  std::vector<LinkCounters> counters() const;

  /// Waits until something can be done, and does it. Returns at once after wake().
  void step();
  void wake() const;

 private:
  struct Proxy {
    std::string name;
    TcpSocket listener;
    ProxyTarget target;
  };
  struct Served {
    ProxiedConnection connection;
    const Proxy& proxy;
    uint32_t client_events = 0;  // As epoll knows them.
    uint32_t target_events = 0;
  };
  using Connections = std::map<uint64_t, Served>;

  LinkLoop(const Options&, const Clock&, OwnedDescriptor epoll, OwnedDescriptor waker);

  Proxy* find(const std::string& name);
  LinkCounters& counters_of(const std::string& from, const std::string& to);
  void accept_all(Proxy&);
  void accept_one(Proxy&, TcpSocket accepted);
  /// An iterator to the next one.
  Connections::iterator advance(Connections::iterator);
  void advance_all();
  void advance_due();
  void watch(int descriptor, uint64_t key, uint32_t& known, uint32_t wanted);
  int wait_millis() const;

  const Options options_;
  const Clock& clock_;
  OwnedDescriptor epoll_;
  OwnedDescriptor waker_;
  std::unique_ptr<OwnedDescriptor> spare_;  // Given up to refuse who comes when there is none left.
  std::vector<std::unique_ptr<Proxy>> proxies_;
  LinkFaults faults_;
  std::optional<TimePoint> faults_change_at_;
  std::map<std::pair<std::string, std::string>, LinkCounters> counters_;
  Connections connections_;
  std::map<uint64_t, TimePoint> wakes_;  // Of connections that wait for a time.
  uint64_t next_connection_ = 1;
  std::string scratch_;
};

}  // namespace freshet::chaos
