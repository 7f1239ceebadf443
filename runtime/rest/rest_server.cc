#include "runtime/rest/rest_server.h"

#include <httplib.h>

#include <exception>
#include <thread>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/rest/request_threads.h"
#include "runtime/rest/rest_json.h"

namespace freshet::rest {

namespace {

constexpr int kKeepAliveSeconds = 1;
constexpr int kSilenceSeconds = 5;  // In the middle of a request or an answer.

class RequestQueue final : public httplib::TaskQueue {
 public:
  void enqueue(std::function<void()> function) override { threads_.enqueue(std::move(function)); }
  void shutdown() override { threads_.shut_down(); }

 private:
  RequestThreads threads_{RestServer::kThreadsMax};
};

Request request_of(const httplib::Request& from) {
  Request request;
  request.method = from.method == "HEAD" ? "GET" : from.method;
  request.path = from.path;
  for (const auto& [name, value] : from.params) request.query[name] = value;
  return request;
}

/// Of a request that never reached the API.
std::string refusal(int status) {
  switch (status) {
    case 413:
      return "the request is larger than a megabyte";
    case 414:
      return "the address is too long";
    default:
      return "this is no request that can be understood";
  }
}

}  // namespace

class RestServer::Impl {
 public:
  explicit Impl(ClusterQueries& queries) : api_(queries) {
    server_.new_task_queue = [] { return new RequestQueue(); };
    server_.set_keep_alive_timeout(kKeepAliveSeconds);
    server_.set_read_timeout(kSilenceSeconds);
    server_.set_write_timeout(kSilenceSeconds);
    server_.set_payload_max_length(kBodyBytesMax);
    // By itself it would share a port that is in use.
    server_.set_socket_options([](socket_t socket) {
      const int yes = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    // There are no routes, so that each request comes here once it was read.
    server_.set_error_handler(httplib::Server::HandlerWithResponse(
        [this](const httplib::Request& request, httplib::Response& response) {
          answer(request, response);
          return httplib::Server::HandlerResponse::Handled;
        }));
  }

  ~Impl() {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }

  Status start(const Address& bind) {
    const int port = bind.port == 0 ? server_.bind_to_any_port(bind.host)
                                    : (server_.bind_to_port(bind.host, bind.port) ? bind.port : -1);
    if (port <= 0)
      return unavailable("cannot listen for HTTP at " + bind.to_string() + ": is the port in use?");
    address_ = {bind.host, static_cast<uint16_t>(port)};
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();  // Or stop() would do nothing.
    return Status();
  }

  const Address& address() const { return address_; }

 private:
  void answer(const httplib::Request& request, httplib::Response& to) {
    Response response;
    try {
      if (to.status == 404) {
        response = api_.handle(request_of(request));
      } else {
        response.status = to.status;
        response.body = Json{{"errors", {refusal(to.status)}}}.dump();
      }
    } catch (const std::exception& error) {
      LOG_ERROR("rest_request_failed", {{"path", request.path}, {"cause", error.what()}});
      response.status = 500;
      response.body = R"({"errors":["the request could not be answered"]})";
    }
    to.status = response.status;
    to.set_content(response.body, response.content_type);
  }

  const RestApi api_;
  httplib::Server server_;
  Address address_;
  std::thread thread_;
};

RestServer::RestServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RestServer::~RestServer() = default;

const Address& RestServer::address() const { return impl_->address(); }

Result<std::unique_ptr<RestServer>> RestServer::start(const Address& bind,
                                                      ClusterQueries& queries) {
  auto impl = std::make_unique<Impl>(queries);
  RETURN_IF_ERROR(impl->start(bind));
  return std::unique_ptr<RestServer>(new RestServer(std::move(impl)));
}

}  // namespace freshet::rest
