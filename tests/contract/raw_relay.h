#pragma once

#include <poll.h>

#include <optional>
#include <string>

#include "tests/contract/raw_socket.h"

namespace freshet {

/// Stands between two that connect, and writes down all that they say.
class RawRelay {
 public:
  explicit RawRelay(const Address& to) : to_(to) {}

  /// Where to connect to instead.
  Address address() const { return listener_.address(); }

  /// Waits for somebody who connects.
  void accept() {
    connecting_.emplace(listener_.accept());
    accepting_.emplace(to_);
  }

  /// Passes on what is there, or what comes soon. False once an end has closed.
  bool pass_on() {
    pollfd ends[] = {{connecting_->descriptor(), POLLIN, 0}, {accepting_->descriptor(), POLLIN, 0}};
    ::poll(ends, 2, 5);
    return (ends[0].revents == 0 || pass_on(*connecting_, *accepting_)) &&
           (ends[1].revents == 0 || pass_on(*accepting_, *connecting_));
  }

  /// Both ways.
  const std::string& said() const { return said_; }

 private:
  bool pass_on(RawSocket& from, RawSocket& to) {
    const std::string bytes = from.hear();
    said_ += bytes;
    if (bytes.empty()) return false;
    to.say(bytes);
    return true;
  }

  const Address to_;
  RawListener listener_;
  std::optional<RawSocket> connecting_;
  std::optional<RawSocket> accepting_;
  std::string said_;
};

}  // namespace freshet
