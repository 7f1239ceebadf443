#include "runtime/cli/answer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "runtime/base/standard_streams.h"
#include "runtime/cli/command.h"

namespace freshet::cli {

namespace {

using Json = nlohmann::ordered_json;

Status write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      return unavailable(fmt::format("standard output cannot be written: {}", strerror(errno)));
    text.remove_prefix(static_cast<size_t>(written));
  }
  return Status();
}

}  // namespace

void Answer::add_flag(CLI::App& parser, const std::string& meaning) {
  parser.add_flag("--json", json_, meaning);
}

void Answer::reserve_output() {
  if (json_) output_ = keep_standard_output();
}

Status Answer::give(const Json& document) const {
  const std::string text = document_text(document);
  if (output_ >= 0) return write_all(output_, text);
  fmt::print("{}", text);
  return Status();
}

int Answer::report(const Status& status) const {
  const int code = cli::report(status);
  if (status.ok() || !json_) return code;
  const Status given = give(errors_json(status.message()));
  if (!given.ok()) static_cast<void>(cli::report(given));
  return code;
}

int Answer::fail(const Status& status) const {
  static_cast<void>(report(status));
  return kExitFailed;
}

Json errors_json(std::string_view message) { return {{"errors", Json::array({message})}}; }

std::string document_text(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace freshet::cli
