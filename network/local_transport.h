#pragma once

#include <map>
#include <memory>

#include "network/transport.h"
#include "runtime/base/executor.h"

namespace freshet {

/// Connections inside one process, without copying: what one side sends is what the other side's
/// on_bytes() sees.
///
/// All events run on one executor, which outlives the transport and its connections; connect() ends
/// there too. At most one send() per direction is in flight: on_sent() comes when the peer's
/// handler has consumed the bytes. Names are not looked up, but localhost is 127.0.0.1; port 0
/// gives a fresh number. Thread-safe. The destructor closes all connections.
class LocalTransport final : public Transport {
 public:
  explicit LocalTransport(Executor& executor);
  ~LocalTransport() override;

  Result<std::unique_ptr<Listener>> listen(const Address& address, AcceptHandler accept) override;
  void connect(const Address& address, Duration timeout, ConnectHandler done) override;

 private:
  struct Registry;
  class LocalListener;

  Executor& executor_;
  const std::shared_ptr<Registry> registry_;  // Shared with listeners and links.
};

}  // namespace freshet
