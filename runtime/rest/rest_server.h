#pragma once

#include <memory>

#include "network/transport.h"
#include "runtime/base/status.h"
#include "runtime/rest/rest_api.h"

namespace freshet::rest {

/// Answers HTTP requests by a RestApi, on threads of its own: as many as there are connections with
/// something to do, at most kThreadsMax; what comes beyond waits. One request per connection. What
/// is too large or no HTTP is refused; a connection that says nothing is closed after a second, and
/// one that falls silent in the middle of a request after five. (One that sends a byte now and then
/// keeps its thread.)
class RestServer {
 public:
  static constexpr size_t kThreadsMax = 64;
  static constexpr size_t kBodyBytesMax = 1u << 20;

  /// Listens at once. Port 0: any. kUnavailable, naming the address, when it cannot.
  static Result<std::unique_ptr<RestServer>> start(const Address& bind, ClusterQueries& queries);

  /// Waits for the requests that are under way, but not for long: what a slow client holds lives on
  /// until that lets go, and asks nothing any more.
  ~RestServer();

  const Address& address() const;

 private:
  class Impl;
  explicit RestServer(std::shared_ptr<Impl> impl);

  const std::shared_ptr<Impl> impl_;
};

}  // namespace freshet::rest
