#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "network/transport.h"
#include "runtime/base/ids.h"
#include "tests/sim/sim_executor.h"

namespace freshet::sim {

/// One start of a process. Zero names none.
using SimProcessId = Id<struct SimProcessTag, uint64_t>;

/// The wires between the processes of a world. It fails like TCP: bytes are late, cut anywhere,
/// held back, or lost with their connection; what arrives on a connection is a prefix of what was
/// sent.
///
/// All addresses are one name space, so that hosts of a world all look like the loopback of one
/// machine.
class SimNetwork {
 public:
  explicit SimNetwork(SimEventQueue& queue);
  ~SimNetwork();

  /// The transport of one process. Its events run on `executor`, which outlives it.
  std::unique_ptr<Transport> make_transport(SimProcessId id,
                                            std::shared_ptr<const Liveness> process,
                                            SimExecutor& executor);

  /// One way, per chunk, uniform. The default is a fast local network: 20 to 500 us.
  void set_latency(Duration minimum, Duration maximum);

  /// Nothing sent between the two arrives before `duration` has passed; nothing is lost.
  void clog(SimProcessId a, SimProcessId b, Duration duration);

  /// What is under way from one to the other on the connections that they have now, and what is
  /// sent there meanwhile, arrives after `duration`; connections made later overtake it. The sender
  /// does not notice, and may have closed long before. Returns how many there are.
  size_t hold(SimProcessId from, SimProcessId to, Duration duration);

  /// Their connections become half-open: bytes are lost and neither is told, also not when the
  /// other closes or dies. New connections time out. After heal() new connections work, and the
  /// old ones are found broken.
  void split(SimProcessId a, SimProcessId b);
  void heal(SimProcessId a, SimProcessId b);

  /// Resets all their connections; what is under way is cut at any byte. Returns how many there
  /// were.
  size_t reset(SimProcessId a, SimProcessId b);

  /// What is wrong with one way between two processes, for the connections that they have and those
  /// to come.
  struct Way {
    bool refused = false;           // Connections are reset, and new ones refused.
    bool held = false;              // Nothing comes through. Nothing is lost: later, all comes.
    Duration delay{0};              // Besides the latency.
    uint64_t bytes_per_second = 0;  // 0: as fast as it goes.
    bool operator==(const Way&) const = default;
  };
  void set_way(SimProcessId from, SimProcessId to, const Way& way);

  /// Resets a connection from `from` to `to` after exactly so many more bytes in that direction,
  /// over all their connections.
  void cut_after(SimProcessId from, SimProcessId to, uint64_t bytes);

  /// Told of all that leaves one process for another, without what is cut off. `near` and `far` are
  /// the addresses of the two ends of its connection.
  using Watcher = std::function<void(SimProcessId from, SimProcessId to, const Address& near,
                                     const Address& far, std::string_view bytes)>;
  void watch(Watcher watcher);

  /// Asked what is sent instead of all that leaves one process for another, as a peer with a fault
  /// of its own would: TCP itself doubles nothing and loses nothing in the middle.
  using Rewriter = std::function<std::string(SimProcessId from, SimProcessId to,
                                             const std::vector<OutgoingBytes>& pieces)>;
  void rewrite(Rewriter rewriter);

  /// False once that has happened.
  bool cut_is_due(SimProcessId from, SimProcessId to) const;

  /// The process died: its ports close and its peers see resets. `told` false: its host died too,
  /// nobody is told.
  void drop(SimProcessId id, bool told);

  /// What the connections of a dead process hold of it.
  std::vector<std::shared_ptr<ConnectionHandler>> take_handlers(SimProcessId id);

  /// Connections that neither end has closed.
  size_t open_connections() const;

 private:
  struct State;
  struct Endpoint;
  class End;
  class Handle;
  class SimListener;
  class SimTransport;

  const std::shared_ptr<State> state_;  // Shared with connections, listeners and transports.
};

}  // namespace freshet::sim
