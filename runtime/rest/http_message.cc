#include "runtime/rest/http_message.h"

#include "runtime/rest/rest_json.h"

namespace freshet::rest {

Response error_response(int status, const std::string& message) {
  Response response;
  response.status = status;
  response.body = Json{{"errors", {message}}}.dump(-1, ' ', false, Json::error_handler_t::replace);
  return response;
}

int http_status_of(StatusCode code) {
  switch (code) {
    case StatusCode::kInvalidArgument:
      return 400;
    case StatusCode::kNotFound:
      return 404;
    case StatusCode::kFailedPrecondition:
      return 409;
    case StatusCode::kUnavailable:
    case StatusCode::kDeadlineExceeded:
    case StatusCode::kResourceExhausted:
      return 503;
    default:
      return 500;
  }
}

}  // namespace freshet::rest
