#include <httplib.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <exception>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/base/log.h"
#include "runtime/rest/http_server.h"
#include "runtime/rest/request_threads.h"
#include "runtime/rest/rest_json.h"

namespace freshet::rest {

namespace {

constexpr int kKeepAliveSeconds = 1;
constexpr int kSilenceSeconds = 5;   // In the middle of a request or an answer.
constexpr size_t kWaitingMax = 256;  // Connections without a thread, each with a descriptor.
constexpr uint64_t kSkippedBytesMax = 64u << 20;
constexpr auto kStopPatience = std::chrono::seconds(2);

class RequestQueue final : public httplib::TaskQueue {
 public:
  explicit RequestQueue(size_t threads_max) : threads_(threads_max, kWaitingMax) {}
  void enqueue(std::function<void()> function) override { threads_.enqueue(std::move(function)); }
  void shutdown() override { threads_.shut_down(); }

 private:
  RequestThreads threads_;
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
    case 403:
      return "this host has another name; use its address, or localhost";
    case 411:
      return "a body needs a Content-Length, and neither chunks nor compression";
    case 413:
      return "the request is larger than a megabyte";
    case 414:
      return "the address is too long";
    default:
      return "this is no request that can be understood";
  }
}

/// Pages of other sites reach a loopback port under a name of their own.
bool is_own_name(std::string host) {
  if (host.starts_with('[') || host.empty()) return true;
  host.erase(std::min(host.find(':'), host.size()));
  return host == "localhost" || host.find_first_not_of("0123456789.") == host.npos;
}

/// Of the body; 0 without. What is no number or too large for one is UINT64_MAX.
uint64_t content_length(const httplib::Request& request) {
  const std::string text = request.get_header_value("Content-Length");
  if (text.empty()) return 0;
  uint64_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  return error == std::errc() && end == text.data() + text.size() ? length : UINT64_MAX;
}

/// What the API does not need to see; 0: it does.
int refused_at_once(const httplib::Request& request, bool only_own_names) {
  if (only_own_names && !is_own_name(request.get_header_value("Host"))) return 403;
  if (request.has_header("Transfer-Encoding") || request.has_header("Content-Encoding")) return 411;
  // What is not much too large is read and dropped, so that the client reads the answer.
  return content_length(request) > kSkippedBytesMax ? 413 : 0;
}

/// Owned by its listener's thread, too: when that is left behind, it goes with it.
class Listening : public std::enable_shared_from_this<Listening> {
 public:
  Listening(size_t threads_max, bool only_own_names, RequestHandler handler)
      : only_own_names_(only_own_names), handler_(std::move(handler)) {
    server_.new_task_queue = [threads_max] { return new RequestQueue(threads_max); };
    server_.set_keep_alive_timeout(kKeepAliveSeconds);
    server_.set_keep_alive_max_count(1);
    server_.set_read_timeout(kSilenceSeconds);
    server_.set_write_timeout(kSilenceSeconds);
    server_.set_payload_max_length(HttpServer::kBodyBytesMax);
    // By itself it would share a port that is in use.
    server_.set_socket_options([](socket_t socket) {
      const int yes = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    using Handled = httplib::Server::HandlerResponse;
    server_.set_pre_routing_handler([this](const auto& request, auto& response) {
      const int refused = refused_at_once(request, only_own_names_);
      if (refused != 0) {
        response.status = refused;
      } else if (content_length(request) != 0) {
        return Handled::Unhandled;  // To be read first.
      }
      answer(request, response);
      return Handled::Handled;
    });
    // There are no routes, so that a request with a body comes here once that was read.
    server_.set_error_handler(
        httplib::Server::HandlerWithResponse([this](const auto& request, auto& response) {
          answer(request, response);
          return Handled::Handled;
        }));
  }

  Status start(const Address& bind) {
    const int port = bind.port == 0 ? server_.bind_to_any_port(bind.host)
                                    : (server_.bind_to_port(bind.host, bind.port) ? bind.port : -1);
    if (port <= 0)
      return unavailable("cannot listen for HTTP at " + bind.to_string() + ": is the port in use?");
    address_ = {bind.host, static_cast<uint16_t>(port)};
    thread_ = std::thread([self = shared_from_this()] {
      self->server_.listen_after_bind();
      if (!self->stopping_) LOG_ERROR("http_ended", {{"address", self->address_.to_string()}});
      self->ended_.set_value();
    });
    // Or stop() would do nothing.
    while (!server_.is_running() && !has_ended()) std::this_thread::yield();
    return Status();
  }

  /// False when a connection does not let go of its thread: this must live on then.
  bool stop() {
    stopping_ = true;
    server_.stop();
    const bool ended =
        !thread_.joinable() || ended_future_.wait_for(kStopPatience) == std::future_status::ready;
    {
      std::unique_lock lock(handler_mutex_);
      handler_ = nullptr;
    }
    if (!thread_.joinable()) return true;
    ended ? thread_.join() : thread_.detach();
    return ended;
  }

  const Address& address() const { return address_; }

 private:
  bool has_ended() const {
    return ended_future_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }

  /// What the handler uses may be gone once the server has ended.
  Response handle(const Request& request) {
    std::shared_lock lock(handler_mutex_);
    if (handler_) return handler_(request);
    return {503, Response().content_type, R"({"errors":["this process is ending"]})"};
  }

  void answer(const httplib::Request& request, httplib::Response& to) {
    if (!to.body.empty()) return;  // It was answered, with an error.
    // Many ranges would make many copies of an answer.
    const_cast<httplib::Request&>(request).ranges.clear();
    Response response;
    try {
      if (to.status == -1 || to.status == 404) {
        response = handle(request_of(request));
      } else {
        response.status = to.status;
        response.body = Json{{"errors", {refusal(to.status)}}}.dump();
      }
    } catch (const std::exception& error) {
      LOG_ERROR("http_request_failed", {{"path", request.path}, {"cause", error.what()}});
      response.status = 500;
      response.body = R"({"errors":["the request could not be answered"]})";
    }
    to.status = response.status;
    to.set_content(response.body, response.content_type);
  }

  const bool only_own_names_;
  std::shared_mutex handler_mutex_;
  RequestHandler handler_;  // Null once the server has ended.
  httplib::Server server_;
  Address address_;
  std::atomic<bool> stopping_{false};
  std::promise<void> ended_;
  const std::shared_future<void> ended_future_ = ended_.get_future().share();
  std::thread thread_;
};

class HttplibServer final : public HttpServer {
 public:
  explicit HttplibServer(std::shared_ptr<Listening> listening) : listening_(std::move(listening)) {}
  ~HttplibServer() override {
    if (listening_->stop()) return;
    LOG_WARN("http_left_behind", {{"cause", "a connection does not let go"}});
  }

  const Address& address() const override { return listening_->address(); }

 private:
  const std::shared_ptr<Listening> listening_;
};

}  // namespace

}  // namespace freshet::rest

/// What HttpServer::start() looks for.
extern "C" void freshet_start_http_server(
    const freshet::Address& bind, size_t threads_max, freshet::rest::RequestHandler handler,
    freshet::Result<std::unique_ptr<freshet::rest::HttpServer>>& server) {
  using namespace freshet::rest;
  auto listening = std::make_shared<Listening>(threads_max, bind.is_loopback(), std::move(handler));
  const freshet::Status status = listening->start(bind);
  if (!status.ok()) {
    server = status;
  } else {
    server = std::unique_ptr<HttpServer>(new HttplibServer(std::move(listening)));
  }
}
