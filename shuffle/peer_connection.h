#pragma once

#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "network/frame.h"
#include "network/transport.h"
#include "runtime/base/executor.h"
#include "runtime/base/mutex.h"
#include "runtime/base/secret_handshake.h"
#include "runtime/base/thread_annotations.h"
#include "shuffle/block_reserve.h"
#include "shuffle/data_messages.h"
#include "shuffle/gate_inbox.h"

namespace freshet {

/// The consuming side of the connection to one producing TaskManager: carries the attachments of
/// all gates here. What is to be said (attach, credit, detach) is gathered while a send is under
/// way.
///
/// Thread-safe. One lock, for the attachments and for what is to be said; never held while anything
/// else is called but the executor of timers.
class PeerConnection final : public ConnectionHandler,
                             public std::enable_shared_from_this<PeerConnection> {
 public:
  struct Options {
    Transport* transport = nullptr;
    Address address;
    std::optional<Address> unix_address;  // Tried first, once.
    TaskManagerId self;
    TaskManagerId peer;
    std::shared_ptr<SecretHandshake> handshake;  // Of this connection. Null: there is no secret.
    Duration connect_timeout = 5s;
    Executor* timers = nullptr;         // For pauses between attempts; not used after close().
    std::shared_ptr<SegmentPool> pool;  // For what is received.
    std::shared_ptr<std::atomic<int64_t>> unconfirmed_sends;
    // Set by the first that logs that `unix_address` is of no use. Null: not logged.
    std::shared_ptr<std::atomic<bool>> fallback_logged;
    std::function<void(const PeerConnection*)> on_closed;  // Before the gates hear of it.
  };

  explicit PeerConnection(Options options);

  /// Connects, trying a bounded number of times within the timeout, with pauses that double. Once.
  void connect();

  /// Adds an attachment for one source of a gate; it is said as soon as there is a connection.
  /// kUnavailable when this one is closed: take another.
  Result<uint32_t> attach(const std::shared_ptr<GateInbox>& inbox,
                          const std::shared_ptr<const GateInbox::Source>& source);

  /// Nothing comes for the gate after the call, but what is being handled on another thread.
  void detach(uint32_t attachment);
  void give_credit(std::span<const CreditReturn> credits);
  /// What it brought is wrong, as its reader found: it is closed with this cause.
  void refuse(const Status& cause);
  void close();

  Status on_bytes(std::string_view bytes) override;
  std::span<char> next_place() override { return frames_.next_place(); }
  void on_sent() override;
  void on_closed(const Status& why) override;

 private:
  struct Attached {
    std::shared_ptr<GateInbox> inbox;
    std::shared_ptr<const GateInbox::Source> source;
  };

  void on_connected(Result<std::shared_ptr<Connection>> connection);
  void log_fallback();
  /// False when there is nothing more to try.
  bool try_again();
  bool is_closed();
  void lose(const Status& cause);
  char* place_for(const FrameHeader& header);
  Status on_frame(const FrameHeader& header, std::string_view payload, BlockRef placed);
  /// Keeps nothing of gates that are gone.
  void drop_detached();
  /// Before the peer has proved that it knows the secret.
  Status on_greeting(const FrameHeader& header, std::string_view payload);
  Status on_challenge(std::string_view nonce);
  Status on_backlog(std::string_view payload);
  Status on_credit_back(std::string_view payload);
  /// Null once it is detached; kDataLoss when it was never there.
  Result<const Attached*> find(uint32_t attachment);
  void wake_gates();
  void pump();

  const Options options_;
  // Used by one thread after the other.
  uint32_t attempts_left_;  // Over TCP.
  Duration pause_;
  bool by_unix_;         // The attempt under way.
  Status unix_failure_;  // Why the Unix socket is not used.
  FrameReader frames_{FrameOpening::kAny};
  bool challenged_ = false;  // Connection's thread.
  bool proved_;              // Likewise: the peer has, or need not.
  BlockReserve reserve_;
  BlockRef placed_;  // Of the payload that frames_ has in the works.
  // Of attached_, found before; dropped when something was detached. With woken_, the connection's
  // thread's.
  boost::unordered_flat_map<uint32_t, Attached> routes_;
  uint64_t routes_detached_ = 0;
  std::vector<std::shared_ptr<GateInbox>> woken_;  // By the bytes that are being read.
  std::atomic<uint64_t> detached_ = 0;             // How many were.

  Mutex mutex_;
  std::shared_ptr<Connection> connection_ GUARDED_BY(mutex_);  // Null until connected.
  std::map<uint32_t, Attached> attached_ GUARDED_BY(mutex_);
  uint32_t next_attachment_ GUARDED_BY(mutex_) = 1;
  std::string opening_ GUARDED_BY(mutex_);
  bool opened_ GUARDED_BY(mutex_);  // Before that nothing but the opening is said.
  std::string control_ GUARDED_BY(mutex_);
  std::vector<CreditReturn> credits_ GUARDED_BY(mutex_);
  bool sending_ GUARDED_BY(mutex_) = false;
  Status refused_ GUARDED_BY(mutex_);  // The first cause; ok: by nobody.
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace freshet
