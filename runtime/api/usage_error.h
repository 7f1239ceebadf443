#pragma once

#include <stdexcept>

namespace freshet {

/// A builder uses the API, or was called, in a way that can never work. Ends the builder; whoever
/// called it gets kInvalidArgument with this text.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The user asks what the arguments of a job are. Ends the builder; whoever called it gets kAborted
/// with this text, the answer.
class HelpRequest : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace freshet
