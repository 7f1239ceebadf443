#pragma once

#include <functional>
#include <map>
#include <string>

namespace freshet::rest {

struct Request {
  std::string method;  // `GET`
  std::string path;    // Decoded, without the query.
  std::map<std::string, std::string> query;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json; charset=UTF-8";
  std::string body;
};

using RequestHandler = std::function<Response(const Request&)>;

}  // namespace freshet::rest
