#include <httplib.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <charconv>
#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/mutex.h"
#include "runtime/rest/http_connection.h"
#include "runtime/rest/http_server.h"
#include "runtime/rest/request_threads.h"

namespace freshet::rest {

namespace {

constexpr size_t kWaitingMax = 256;  // Connections without a thread, each with a descriptor.
constexpr uint64_t kSkippedBytesMax = 64u << 20;
constexpr auto kKeepAlive = std::chrono::seconds(2);  // For another request.
constexpr size_t kRequestsMax = 100;                  // On one connection.
constexpr auto kStopPatience = std::chrono::seconds(2);

class RequestQueue final : public httplib::TaskQueue {
 public:
  explicit RequestQueue(std::shared_ptr<RequestThreads> threads) : threads_(std::move(threads)) {}
  void enqueue(std::function<void()> function) override { threads_->enqueue(std::move(function)); }
  void shutdown() override { threads_->shut_down(); }

 private:
  const std::shared_ptr<RequestThreads> threads_;
};

/// Of the body; 0 without. What is no number or too large for one is UINT64_MAX.
uint64_t content_length(const httplib::Request& request) {
  const std::string text = request.get_header_value("Content-Length");
  if (text.empty()) return 0;
  uint64_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  return error == std::errc() && end == text.data() + text.size() ? length : UINT64_MAX;
}

/// Leads from a request to its connection, in a field that only clients use.
struct ConnectionOf {
  HttpConnection* connection;
  bool operator()(uint64_t /*read*/, uint64_t /*of*/) const { return true; }
};

/// cpp-httplib's server, but with connections that are bounded in all that a client does, and can
/// be cut.
class BoundedServer final : public httplib::Server {
 public:
  explicit BoundedServer(size_t threads_max)
      : threads_(std::make_shared<RequestThreads>(threads_max, kWaitingMax)),
        kept_max_(threads_max / 2),
        clock_(make_system_clock()) {
    new_task_queue = [this] { return new RequestQueue(threads_); };
    set_keep_alive_timeout(kKeepAlive.count());  // What answers say.
    set_keep_alive_max_count(kRequestsMax);
    // The head of an answer and its body are sent one after the other.
    set_tcp_nodelay(true);
  }

  /// By itself it lets five connect at once: others try again after a second.
  void widen_backlog() { (void)::listen(svr_sock_, SOMAXCONN); }

  /// Nobody is waited for any more who has his answer.
  void end_keep_alive() { ends_keep_alive_ = true; }

  /// Ends what clients say and what they are told, also of those that come later.
  void cut_connections() {
    const MutexLock lock(mutex_);
    cut_ = true;
    for (const socket_t socket : open_) ::shutdown(socket, SHUT_RDWR);
  }

 private:
  bool process_and_close_socket(socket_t socket) override {
    {
      const MutexLock lock(mutex_);
      open_.insert(socket);
      if (cut_) ::shutdown(socket, SHUT_RDWR);
    }
    HttpConnection connection(socket, *clock_, {}, [this] { return is_busy(); });
    const bool answered = connection.wait_for_request() && answer_all(connection);
    const MutexLock lock(mutex_);
    open_.erase(socket);
    ::close(socket);
    return answered;
  }

  /// Others wait for a thread, or for all of them to end.
  bool is_busy() const { return ends_keep_alive_ || threads_->waiting() > 0; }

  bool answer_all(HttpConnection& connection) {
    for (size_t left = kRequestsMax; left > 0; --left) {
      bool last = left == 1 || is_busy() || kept_ >= kept_max_;
      if (!answer_one(connection, &last)) return left < kRequestsMax;
      if (last) break;
      kept_++;
      const bool asks = connection.wait_for_next(kKeepAlive);
      kept_--;
      if (!asks) break;
    }
    connection.drain(kSkippedBytesMax);
    return true;
  }

  /// `*last`: the client is told so, or has told it.
  bool answer_one(HttpConnection& connection, bool* last) {
    bool closed = false;
    const bool answered =
        process_request(connection, *last, closed, [&](httplib::Request& request) {
          connection.on_head_read(content_length(request));
          request.progress = ConnectionOf{&connection};
        });
    *last = *last || closed;
    if (!answered) connection.drain(kSkippedBytesMax);
    return answered;
  }

  const std::shared_ptr<RequestThreads> threads_;
  const size_t kept_max_;        // So that there are threads for those who come.
  std::atomic<size_t> kept_{0};  // Connections that may ask for more, each with a thread.
  const std::unique_ptr<Clock> clock_;
  Mutex mutex_;
  bool cut_ GUARDED_BY(mutex_) = false;
  std::atomic<bool> ends_keep_alive_{false};
  std::set<socket_t> open_ GUARDED_BY(mutex_);
};

/// Of a request that never reached the API.
std::string refusal(int status) {
  switch (status) {
    case 403:
      return "this host has another name; use its address, or localhost";
    case 408:
      return "the request did not come in time";
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

constexpr std::string_view kScheme = "http://";

/// Where the path begins in a target that names the host, too, as proxies are sent (RFC 9112,
/// 3.2.2); nullopt in any other.
std::optional<size_t> path_in_absolute(const std::string& path) {
  const auto same = [](char wanted, char given) {
    return std::tolower(static_cast<unsigned char>(given)) == wanted;
  };
  if (path.size() < kScheme.size() ||
      !std::equal(kScheme.begin(), kScheme.end(), path.begin(), same))
    return std::nullopt;
  return std::min(path.find('/', kScheme.size()), path.size());
}

/// Whom the client calls: where the target says it, the header does not count.
std::string host_of(const httplib::Request& request) {
  const auto path = path_in_absolute(request.path);
  if (!path) return request.get_header_value("Host");
  return request.path.substr(kScheme.size(), *path - kScheme.size());
}

/// Whether a page of another site has a browser send this, as it may even with a file.
bool is_of_another_site(const httplib::Request& request) {
  const std::string origin = request.get_header_value("Origin");
  if (origin.empty()) return request.get_header_value("Sec-Fetch-Site") == "cross-site";
  const size_t host = origin.find("://");
  return host == origin.npos || origin.substr(host + 3) != host_of(request);
}

/// What nobody needs to see.
std::optional<Response> refused_at_once(const httplib::Request& request, bool only_own_names) {
  if (only_own_names && !is_own_name(host_of(request))) return error_response(403, refusal(403));
  if (is_of_another_site(request))
    return error_response(403, "pages of other sites may not send requests");
  if (request.has_header("Transfer-Encoding") || request.has_header("Content-Encoding"))
    return error_response(411, refusal(411));
  if (content_length(request) == UINT64_MAX) return error_response(413, refusal(413));
  return std::nullopt;
}

Request request_of(const httplib::Request& from) {
  Request request;
  request.method = from.method == "HEAD" ? "GET" : from.method;
  request.path = from.path.substr(path_in_absolute(from.path).value_or(0));
  for (const auto& [name, value] : from.params) request.query[name] = value;
  request.sent_method = from.method;
  request.target = from.target;
  request.host = host_of(from);
  request.content_type = from.get_header_value("Content-Type");
  request.authorization = from.get_header_value("Authorization");
  request.content_length = content_length(from);
  return request;
}

/// Of the request, as the connection gives it; an answer when there is none to be had.
std::optional<Response> read_body(HttpConnection& connection, Request& request) {
  if (!request.receiver && request.content_length > HttpServer::kBodyBytesMax)
    return error_response(413, refusal(413));
  std::array<char, 64 << 10> part;
  for (uint64_t left = request.content_length; left > 0;) {
    const ssize_t size = connection.read(part.data(), std::min<uint64_t>(left, part.size()));
    if (size <= 0) return error_response(408, refusal(408));
    left -= static_cast<uint64_t>(size);
    const std::string_view bytes(part.data(), static_cast<size_t>(size));
    if (!request.receiver) {
      request.body += bytes;
    } else if (const Status taken = request.receiver->take(bytes); !taken.ok()) {
      return error_response(http_status_of(taken.code()), taken.message());
    }
  }
  return std::nullopt;
}

/// Owned by its listener's thread, too: when that is left behind, it goes with it.
class Listening : public std::enable_shared_from_this<Listening> {
 public:
  Listening(size_t threads_max, bool only_own_names, RequestHandlers handlers)
      : only_own_names_(only_own_names), handlers_(std::move(handlers)), server_(threads_max) {
    // By itself it would share a port that is in use.
    server_.set_socket_options([](socket_t socket) {
      const int yes = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    using Handled = httplib::Server::HandlerResponse;
    server_.set_pre_routing_handler([this](const auto& request, auto& response) {
      answer(request, response);
      return Handled::Handled;
    });
    // What cpp-httplib itself refuses.
    server_.set_error_handler(
        httplib::Server::HandlerWithResponse([](const auto& /*request*/, auto& to) {
          if (to.body.empty()) write(error_response(to.status, refusal(to.status)), to);
          return Handled::Handled;
        }));
  }

  Status start(const Address& bind) {
    const int port = bind.port == 0 ? server_.bind_to_any_port(bind.host)
                                    : (server_.bind_to_port(bind.host, bind.port) ? bind.port : -1);
    if (port <= 0)
      return unavailable("cannot listen for HTTP at " + bind.to_string() + ": is the port in use?");
    server_.widen_backlog();
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

  /// False when a handler does not return: this must live on then.
  bool stop() {
    stopping_ = true;
    server_.end_keep_alive();
    server_.stop();
    if (!thread_.joinable()) return true;
    if (ended_future_.wait_for(kStopPatience) != std::future_status::ready)
      server_.cut_connections();
    const bool ended = ended_future_.wait_for(kStopPatience) == std::future_status::ready;
    {
      std::unique_lock lock(handlers_mutex_);
      handlers_ = {};
    }
    ended ? thread_.join() : thread_.detach();
    return ended;
  }

  const Address& address() const { return address_; }

 private:
  bool has_ended() const {
    return ended_future_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }

  static void write(const Response& response, httplib::Response& to) {
    to.status = response.status;
    to.set_content(response.body, response.content_type);
    for (const auto& [name, value] : response.headers) to.set_header(name, value);
  }

  void stream(const Response& response, const httplib::Request& request, httplib::Response& to) {
    HttpConnection& connection = *request.progress.target<ConnectionOf>()->connection;
    connection.on_stream();
    to.body.clear();
    to.headers.erase("Content-Type");
    to.set_content_provider(response.content_type,
                            [self = shared_from_this(), &connection, events = response.events](
                                size_t, httplib::DataSink& sink) {
                              return self->tell_next(connection, *events, sink);
                            });
  }

  /// False: nobody listens any more.
  bool tell_next(HttpConnection& connection, EventStream& events, httplib::DataSink& sink) {
    if (connection.has_left()) return false;
    std::shared_lock lock(handlers_mutex_);
    const auto text = handlers_.answer ? events.next() : std::nullopt;
    lock.unlock();
    if (!text) sink.done();
    return !text || text->empty() || sink.write(text->data(), text->size());
  }

  /// One of the handlers, or an answer when there are none any more. What they use may be gone once
  /// the server has ended.
  template <class Handler, class... Given>
  std::optional<Response> call(Handler RequestHandlers::*which, const Given&... given) {
    std::shared_lock lock(handlers_mutex_);
    if (!handlers_.answer) return error_response(503, "this process is ending");
    if (!(handlers_.*which)) return std::nullopt;
    return (handlers_.*which)(given...);
  }

  std::optional<Response> open_body(Request& request) {
    std::shared_lock lock(handlers_mutex_);
    if (!handlers_.open_body) return std::nullopt;
    auto receiver = handlers_.open_body(request);
    const Status& status = receiver.status();
    if (!status.ok()) return error_response(http_status_of(status.code()), status.message());
    request.receiver = *std::move(receiver);
    return std::nullopt;
  }

  Response respond(const httplib::Request& from) {
    if (auto refused = refused_at_once(from, only_own_names_)) return *std::move(refused);
    Request request = request_of(from);
    if (auto refused = call(&RequestHandlers::admit, request)) return *std::move(refused);
    if (request.content_length > 0) {
      if (auto refused = open_body(request)) return *std::move(refused);
      HttpConnection& connection = *from.progress.target<ConnectionOf>()->connection;
      if (auto refused = read_body(connection, request)) return *std::move(refused);
    }
    return call(&RequestHandlers::answer, request).value();
  }

  void answer(const httplib::Request& request, httplib::Response& to) {
    // Many ranges would make many copies of an answer.
    const_cast<httplib::Request&>(request).ranges.clear();
    try {
      const Response response = respond(request);
      write(response, to);
      if (response.events) stream(response, request, to);
    } catch (const std::exception& error) {
      LOG_ERROR("http_request_failed", {{"path", request.path}, {"cause", error.what()}});
      write(error_response(500, "the request could not be answered"), to);
    }
  }

  const bool only_own_names_;
  std::shared_mutex handlers_mutex_;
  RequestHandlers handlers_;  // Empty once the server has ended.
  BoundedServer server_;
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
    LOG_WARN("http_left_behind", {{"cause", "a request is not answered in time"}});
  }

  const Address& address() const override { return listening_->address(); }

 private:
  const std::shared_ptr<Listening> listening_;
};

}  // namespace

}  // namespace freshet::rest

/// What HttpServer::start() looks for.
extern "C" void freshet_start_http_server(
    const freshet::Address& bind, size_t threads_max, freshet::rest::RequestHandlers handlers,
    freshet::Result<std::unique_ptr<freshet::rest::HttpServer>>& server) {
  using namespace freshet::rest;
  auto listening =
      std::make_shared<Listening>(threads_max, bind.is_loopback(), std::move(handlers));
  const freshet::Status status = listening->start(bind);
  if (!status.ok()) {
    server = status;
  } else {
    server = std::unique_ptr<HttpServer>(new HttplibServer(std::move(listening)));
  }
}
