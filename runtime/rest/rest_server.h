#pragma once

#include <memory>
#include <string>

#include "network/transport.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/rest/digest_authentication.h"
#include "runtime/rest/http_server.h"
#include "runtime/rest/rest_api.h"

namespace freshet::rest {

/// Answers HTTP requests by a RestApi.
class RestServer {
 public:
  static constexpr size_t kThreadsMax = 64;  // And one for each stream of events.

  struct Options {
    UploadedModules* modules = nullptr;  // Without, none can be uploaded.
    std::string secret = {};             // That clients must know; empty: none.
  };

  /// As HttpServer::start().
  static Result<std::unique_ptr<RestServer>> start(const Address& bind, ClusterQueries& queries,
                                                   const Options& options);
  static Result<std::unique_ptr<RestServer>> start(const Address& bind, ClusterQueries& queries) {
    return start(bind, queries, Options());
  }

  const Address& address() const { return http_->address(); }

 private:
  RestServer() = default;

  std::unique_ptr<Clock> clock_;
  std::unique_ptr<DigestAuthentication> authentication_;  // Null: everybody may ask.
  std::unique_ptr<HttpServer> http_;                      // Ends before what it uses.
};

}  // namespace freshet::rest
