#include "runtime/rest/rest_server.h"

#include <utility>

#include "runtime/base/random.h"

namespace freshet::rest {

Result<std::unique_ptr<RestServer>> RestServer::start(const Address& bind, ClusterQueries& queries,
                                                      const Options& options) {
  std::unique_ptr<RestServer> server(new RestServer());
  server->clock_ = make_system_clock();
  if (!options.secret.empty()) {
    server->authentication_ = std::make_unique<DigestAuthentication>(
        options.secret, *server->clock_, make_system_random());
  }
  const RestApi api(queries, options.modules,
                    std::make_shared<JobEvents>(queries, *server->clock_));
  RequestHandlers handlers;
  handlers.answer = [api](const Request& request) { return api.handle(request); };
  handlers.admit = [api, who = server->authentication_.get()](const Request& request) {
    auto refused = who == nullptr ? std::nullopt : who->check(request);
    return refused ? refused : api.admit(request);
  };
  handlers.open_body = [api](const Request& request) { return api.open_body(request); };
  ASSIGN_OR_RETURN(server->http_, HttpServer::start(bind, kThreadsMax + JobEvents::kStreamsMax,
                                                    std::move(handlers)));
  return server;
}

}  // namespace freshet::rest
