#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "runtime/chaos/link_faults.h"
#include "runtime/chaos/stream_pump.h"
#include "runtime/chaos/tcp_socket.h"

namespace freshet::chaos {

/// What went from one process to another through proxies.
struct LinkCounters {
  std::string from;  // Empty: somebody else.
  std::string to;
  uint64_t connections = 0;  // That `from` made, let through.
  uint64_t refused = 0;      // That `from` tried to make, but not let through.
  uint64_t resets = 0;       // Connections that `from` had made, ended by a fault.
  uint64_t bytes = 0;        // Sent by `from`, whoever made the connection.
  bool operator==(const LinkCounters&) const = default;
};

/// Where a proxy leads to.
struct ProxyTarget {
  std::optional<Address> address;
  bool expected = true;  // Without an address: connections wait for it; otherwise they are refused.
};

/// A connection that somebody made to a proxy, and the one that the proxy makes to its target.
/// Never waits: advance() is called again when one of its sockets can do what it waits for.
///
/// While nothing comes through in one direction no connection is made: it would need both.
class ProxiedConnection {
 public:
  static constexpr Duration kPatience = 10s;  // For a target, and until that has taken it.

  /// The counters are of the way to the target and back, and outlive it.
  ProxiedConnection(TcpSocket accepted, LinkCounters& there, LinkCounters& back, TimePoint now)
      : client_(std::move(accepted)), there_(there), back_(back), give_up_at_(now + kPatience) {}

  struct Surroundings {
    LinkEffect there;
    LinkEffect back;
    ProxyTarget target;
    TimePoint now;
    std::span<char> scratch;
  };
  /// False: it has ended, and is of no use any more.
  bool advance(const Surroundings&);

  const std::string& from() const { return there_.from; }
  const std::string& to() const { return there_.to; }
  int client() const { return client_.descriptor(); }
  int target() const { return target_ ? target_->descriptor() : -1; }
  /// For epoll; 0: it waits for nothing there.
  uint32_t events_of_client() const;
  uint32_t events_of_target() const;
  std::optional<TimePoint> wakes_at() const;

 private:
  bool connect(const Surroundings&);
  bool flow(const Surroundings&);
  /// False: the connection cannot go on.
  static bool go_on(StreamPump::Progress, StreamPump& pump, bool other_way_held);
  void reset();

  TcpSocket client_;
  std::optional<TcpSocket> target_;
  LinkCounters& there_;
  LinkCounters& back_;
  TimePoint give_up_at_;
  bool held_ = false;                    // Before it was made.
  std::optional<StreamPump> to_target_;  // Both or none: connected.
  std::optional<StreamPump> to_client_;
};

}  // namespace freshet::chaos
