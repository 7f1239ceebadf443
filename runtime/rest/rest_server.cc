#include "runtime/rest/rest_server.h"

#include <utility>

namespace freshet::rest {

Result<std::unique_ptr<RestServer>> RestServer::start(const Address& bind, ClusterQueries& queries,
                                                      UploadedModules* modules) {
  std::unique_ptr<RestServer> server(new RestServer());
  const RestApi api(queries, modules);
  RequestHandlers handlers;
  handlers.answer = [api](const Request& request) { return api.handle(request); };
  handlers.admit = [api](const Request& request) { return api.admit(request); };
  handlers.open_body = [api](const Request& request) { return api.open_body(request); };
  ASSIGN_OR_RETURN(server->http_, HttpServer::start(bind, kThreadsMax, std::move(handlers)));
  return server;
}

}  // namespace freshet::rest
