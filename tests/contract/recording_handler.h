#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "network/transport.h"

namespace freshet {

/// Something that threads change and a test waits for. Thread-safe.
class Signal {
 public:
  template <class F>
  auto change(F function) {
    std::lock_guard lock(mutex_);
    changed_.notify_all();
    return function();
  }

  /// False when it did not come true in a time that only a hanging test needs.
  template <class F>
  bool wait_until(F condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(30), condition);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

/// Remembers all events of a connection. Hooks act inside them, without the lock, and are done when
/// the event is seen. Thread-safe.
class RecordingHandler : public ConnectionHandler {
 public:
  std::function<Status(std::string_view)> bytes_hook;
  std::function<void()> sent_hook;
  std::function<std::span<char>()> place_hook;
  std::function<void()> closed_hook;
  bool keeps_bytes = true;  // Otherwise they are only counted.

  Status on_bytes(std::string_view bytes) override {
    count_if_late();
    Status status = bytes_hook ? bytes_hook(bytes) : Status();
    signal_.change([&] {
      received_bytes_ += bytes.size();
      if (keeps_bytes) received_ += bytes;
    });
    return status;
  }

  void on_sent() override {
    count_if_late();
    if (sent_hook) sent_hook();
    signal_.change([&] { ++sent_; });
  }

  std::span<char> next_place() override {
    count_if_late();
    return place_hook ? place_hook() : std::span<char>();
  }

  void on_closed(const Status& why) override {
    count_if_late();
    if (closed_hook) closed_hook();
    signal_.change([&] { closed_ = why; });
  }

  bool wait_for_bytes(size_t size) {
    return signal_.wait_until([&] { return received_bytes_ >= size; });
  }
  bool wait_for_sent(int count) {
    return signal_.wait_until([&] { return sent_ >= count; });
  }
  bool wait_for_close() {
    return signal_.wait_until([&] { return closed_.has_value(); });
  }

  std::string received() {
    return signal_.change([&] { return received_; });
  }
  size_t received_bytes() {
    return signal_.change([&] { return received_bytes_; });
  }
  int sent() {
    return signal_.change([&] { return sent_; });
  }
  std::optional<Status> closed() {
    return signal_.change([&] { return closed_; });
  }
  int events_after_close() {
    return signal_.change([&] { return events_after_close_; });
  }

 private:
  void count_if_late() {
    signal_.change([&] { events_after_close_ += closed_.has_value(); });
  }

  Signal signal_;
  std::string received_;
  size_t received_bytes_ = 0;
  int sent_ = 0;
  std::optional<Status> closed_;
  int events_after_close_ = 0;
};

/// One piece that owns its text.
inline std::vector<OutgoingBytes> outgoing(std::string text) {
  auto owner = std::make_shared<std::string>(std::move(text));
  return {OutgoingBytes{*owner, owner}};
}

/// Connections that a listener accepted, in order. Thread-safe; lives as long as the accept handler
/// does.
class AcceptQueue {
 public:
  AcceptHandler handler() {
    return [this](std::shared_ptr<Connection> connection) {
      signal_.change([&] { accepted_.push_back(std::move(connection)); });
    };
  }

  /// Null when none came.
  std::shared_ptr<Connection> take() {
    std::shared_ptr<Connection> taken;
    signal_.wait_until([&] { return taken_ < accepted_.size(); });
    signal_.change([&] {
      if (taken_ < accepted_.size()) taken = std::move(accepted_[taken_++]);
    });
    return taken;
  }

 private:
  Signal signal_;
  std::vector<std::shared_ptr<Connection>> accepted_;
  size_t taken_ = 0;
};

/// The outcome of a connect(), when it has come.
inline Result<std::shared_ptr<Connection>> connect_and_wait(
    Transport& transport, const Address& address, Duration timeout = std::chrono::seconds(20)) {
  struct Outcome {
    Signal signal;
    std::optional<Result<std::shared_ptr<Connection>>> result;
  };
  auto outcome = std::make_shared<Outcome>();
  transport.connect(address, timeout, [outcome](Result<std::shared_ptr<Connection>> result) {
    outcome->signal.change([&] { outcome->result.emplace(std::move(result)); });
  });
  if (!outcome->signal.wait_until([&] { return outcome->result.has_value(); })) {
    return internal_error("connect() never ended");
  }
  return outcome->signal.change([&] { return std::move(*outcome->result); });
}

}  // namespace freshet
