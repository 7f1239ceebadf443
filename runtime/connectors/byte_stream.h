#pragma once

#include <string>

namespace freshet {

/// The end of one connection after another to a peer that sends bytes, for a source with a thread
/// of its own.
class ByteStream {
 public:
  enum class Kind : char {
    kNothing = 'n',    // As yet.
    kConnected = 'c',  // Once per connection, before its bytes.
    kBytes = 'b',      // `text` is the next of them.
    kEnd = 'e',        // The peer has closed, and everything was read.
    kFailed = 'f',     // There is no connection, or none any more; `text` says why.
  };
  struct Event {
    Kind kind = Kind::kNothing;
    std::string text;
  };

  virtual ~ByteStream() = default;

  /// What happens next. Waits for it a few milliseconds, and no longer, but for the lookup of a
  /// name. Nothing is read from the network but what is returned. Begins to connect when there is
  /// no connection.
  virtual Event next() = 0;

  /// Drops the connection, or what was done to make one.
  virtual void close() = 0;
};

}  // namespace freshet
