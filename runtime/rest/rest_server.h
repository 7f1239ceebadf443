#pragma once

#include <memory>

#include "network/transport.h"
#include "runtime/base/status.h"
#include "runtime/rest/http_server.h"
#include "runtime/rest/rest_api.h"

namespace freshet::rest {

/// Answers HTTP requests by a RestApi.
class RestServer {
 public:
  static constexpr size_t kThreadsMax = 64;

  /// As HttpServer::start(). Without `modules` none can be uploaded.
  static Result<std::unique_ptr<RestServer>> start(const Address& bind, ClusterQueries& queries,
                                                   UploadedModules* modules = nullptr);

  const Address& address() const { return http_->address(); }

 private:
  RestServer() = default;

  std::unique_ptr<HttpServer> http_;
};

}  // namespace freshet::rest
