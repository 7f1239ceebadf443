#include "runtime/base/status.h"

#include <array>

namespace freshet {

std::string_view to_string(StatusCode code) {
  static constexpr std::array<std::string_view, 12> kNames = {"ok",
                                                              "invalid_argument",
                                                              "not_found",
                                                              "already_exists",
                                                              "failed_precondition",
                                                              "resource_exhausted",
                                                              "unavailable",
                                                              "deadline_exceeded",
                                                              "data_loss",
                                                              "aborted",
                                                              "user_error",
                                                              "internal"};
  return kNames[static_cast<size_t>(code)];
}

Status Status::with_context(std::string_view context) const {
  if (ok()) return *this;
  return Status(code_, std::string(context) + ": " + message_);
}

std::string Status::to_string() const {
  if (ok()) return "ok";
  return std::string(freshet::to_string(code_)) + ": " + message_;
}

Status invalid_argument(std::string message) {
  return {StatusCode::kInvalidArgument, std::move(message)};
}
Status not_found(std::string message) { return {StatusCode::kNotFound, std::move(message)}; }
Status already_exists(std::string message) {
  return {StatusCode::kAlreadyExists, std::move(message)};
}
Status failed_precondition(std::string message) {
  return {StatusCode::kFailedPrecondition, std::move(message)};
}
Status resource_exhausted(std::string message) {
  return {StatusCode::kResourceExhausted, std::move(message)};
}
Status unavailable(std::string message) { return {StatusCode::kUnavailable, std::move(message)}; }
Status deadline_exceeded(std::string message) {
  return {StatusCode::kDeadlineExceeded, std::move(message)};
}
Status data_loss(std::string message) { return {StatusCode::kDataLoss, std::move(message)}; }
Status aborted(std::string message) { return {StatusCode::kAborted, std::move(message)}; }
Status user_error(std::string message) { return {StatusCode::kUserError, std::move(message)}; }
Status internal_error(std::string message) { return {StatusCode::kInternal, std::move(message)}; }

}  // namespace freshet
