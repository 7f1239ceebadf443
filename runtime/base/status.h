#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace freshet {

/// Why something could not be done. Values copy; thread-compatible.
enum class StatusCode {
  kOk,
  kInvalidArgument,  // The caller, a user or a peer gave something that can never work.
  kNotFound,
  kAlreadyExists,
  kFailedPrecondition,  // Not in this state; may work later.
  kResourceExhausted,   // Memory, disk, slots, descriptors.
  kUnavailable,         // A peer cannot be reached or went away. Trying again may help.
  kDeadlineExceeded,    // The outcome is unknown.
  kDataLoss,            // Bytes are damaged or missing.
  kAborted,             // Given up by decision: cancelled, superseded, fenced.
  kUserError,           // User code threw or misbehaved.
  kInternal,            // Our bug, seen where aborting would be worse.
};

std::string_view to_string(StatusCode);

/// The outcome of something that can fail because of the world. Gains context on its way up and is
/// logged once, where it is handled.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  static Status ok_status() { return Status(); }

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

  /// The same code with `context: ` before the message. Ok stays ok.
  Status with_context(std::string_view context) const;

  /// `not_found: no job 1234`, or `ok`.
  std::string to_string() const;

  bool operator==(const Status&) const = default;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

Status invalid_argument(std::string message);
Status not_found(std::string message);
Status already_exists(std::string message);
Status failed_precondition(std::string message);
Status resource_exhausted(std::string message);
Status unavailable(std::string message);
Status deadline_exceeded(std::string message);
Status data_loss(std::string message);
Status aborted(std::string message);
Status user_error(std::string message);
Status internal_error(std::string message);

/// A value, or why there is none. Never holds an ok Status as its error.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}  // NOLINT: implicit by design
  Result(Status error)
      : value_(tl::unexpected<Status>(std::move(error))) {}  // NOLINT: implicit by design

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }

  /// Only when ok.
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return std::move(*value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

  /// Ok when there is a value.
  Status status() const { return ok() ? Status() : value_.error(); }

 private:
  tl::expected<T, Status> value_;
};

}  // namespace freshet

#define FRESHET_CONCAT_INNER(a, b) a##b
#define FRESHET_CONCAT(a, b) FRESHET_CONCAT_INNER(a, b)

/// Leaves the function with the error, if there is one.
#define RETURN_IF_ERROR(expression)                                              \
  do {                                                                           \
    if (::freshet::Status freshet_status = (expression); !freshet_status.ok()) { \
      return freshet_status;                                                     \
    }                                                                            \
  } while (false)

/// `ASSIGN_OR_RETURN(auto file, open(path));`
#define ASSIGN_OR_RETURN(declaration, expression) \
  ASSIGN_OR_RETURN_INNER(FRESHET_CONCAT(freshet_result_, __LINE__), declaration, expression)
#define ASSIGN_OR_RETURN_INNER(result, declaration, expression) \
  auto result = (expression);                                   \
  if (!result.ok()) return result.status();                     \
  declaration = std::move(result).value()
