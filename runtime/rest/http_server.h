#pragma once

#include <memory>

#include "network/transport.h"
#include "runtime/base/status.h"
#include "runtime/rest/http_message.h"

namespace freshet::rest {

/// Answers HTTP requests on threads of its own: as many as there are connections with something to
/// do, at most `threads_max`; what comes beyond waits. One request per connection. What is too
/// large or no HTTP is refused. See HttpConnection for how long a slow client may hold a thread.
class HttpServer {
 public:
  static constexpr size_t kBodyBytesMax = 1u << 20;  // Unless somebody takes it in parts.

  /// Listens at once. What it needs is in a library of its own, libfreshet_http, beside libfreshet:
  /// loaded by the first call, so that a process without a server does without a megabyte of
  /// foreign ones. Port 0: any. kUnavailable, naming the address, when it cannot. The handlers are
  /// not called any more after the destructor.
  static Result<std::unique_ptr<HttpServer>> start(const Address& bind, size_t threads_max,
                                                   RequestHandlers handlers);

  /// Waits for the requests that are under way, but not for long: then their connections are cut,
  /// and a handler that does not return lives on until it does.
  virtual ~HttpServer() = default;

  virtual const Address& address() const = 0;
};

}  // namespace freshet::rest
