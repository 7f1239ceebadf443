#include "runtime/rest/rest_server.h"

#include <utility>

namespace freshet::rest {

Result<std::unique_ptr<RestServer>> RestServer::start(const Address& bind,
                                                      ClusterQueries& queries) {
  std::unique_ptr<RestServer> server(new RestServer());
  ASSIGN_OR_RETURN(
      server->http_,
      HttpServer::start(bind, kThreadsMax, {[api = RestApi(queries)](const Request& request) {
                          return api.handle(request);
                        }}));
  return server;
}

}  // namespace freshet::rest
