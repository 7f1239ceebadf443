#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/status.h"

namespace freshet::rest {

/// Takes the body of a request in parts, as they come.
class BodyReceiver {
 public:
  virtual ~BodyReceiver() = default;
  /// What is wrong ends the request; the rest of the body is dropped.
  virtual Status take(std::string_view part) = 0;
};

struct Request {
  std::string method;  // `GET`
  std::string path;    // Decoded, without the query.
  std::map<std::string, std::string> query = {};
  std::string sent_method = {};  // `HEAD`, too, which is answered as GET.
  std::string target = {};       // Path and query as they were sent.
  std::string host = {};         // That the client wanted, with its port.
  std::string content_type = {};
  std::string authorization = {};
  uint64_t content_length = 0;
  std::string body = {};
  std::shared_ptr<BodyReceiver> receiver = {};  // Has taken the body, which is empty then.
};

/// What an answer goes on to say, for as long as somebody listens.
class EventStream {
 public:
  virtual ~EventStream() = default;
  /// Waits, but not for long; empty: nothing yet. nullopt: that was all.
  virtual std::optional<std::string> next() = 0;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json; charset=UTF-8";
  std::string body;
  std::map<std::string, std::string> headers = {};  // Besides those that every answer has.
  std::shared_ptr<EventStream> events = {};         // Instead of a body.
};

/// `{"errors": ["..."]}`
Response error_response(int status, const std::string& message);

/// The status of HTTP that fits.
int http_status_of(StatusCode);

/// How requests are answered. Each is called on any thread, on several at once.
struct RequestHandlers {
  std::function<Response(const Request&)> answer;
  /// Before the body is read: an answer refuses the request. May be null: all are let in.
  std::function<std::optional<Response>(const Request&)> admit = {};
  /// Who takes the body; null: it is kept in Request::body, and may not be large. May be null, too.
  std::function<Result<std::shared_ptr<BodyReceiver>>(const Request&)> open_body = {};
};

}  // namespace freshet::rest
