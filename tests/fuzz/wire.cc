#include "tests/fuzz/wire.h"

#include "runtime/base/check.h"

namespace freshet::fuzz {

void Wire::send(std::vector<OutgoingBytes> pieces) {
  if (handler_ == nullptr || closing_) return;
  CHECK(!sending_);
  sending_ = true;
  for (const OutgoingBytes& piece : pieces) sent_ += piece.bytes;
}

size_t Wire::deliver(std::string_view bytes) {
  if (handler_ == nullptr) return bytes.size();
  Status status;
  if (const std::span<char> place = handler_->next_place(); !place.empty()) {
    bytes = bytes.substr(0, place.size());
    std::copy(bytes.begin(), bytes.end(), place.begin());
    status = handler_->on_bytes({place.data(), bytes.size()});
  } else {
    // A copy without a byte more, so that AddressSanitizer sees one that is read too far.
    const std::vector<char> tight(bytes.begin(), bytes.end());
    status = handler_->on_bytes({tight.data(), tight.size()});
  }
  CHECK(status.ok() || !status.message().empty());
  if (!status.ok()) end(status);
  settle();
  return bytes.size();
}

void Wire::settle() {
  while (handler_ != nullptr && sending_ && !closing_) {
    sending_ = false;
    const auto handler = handler_;
    handler->on_sent();
  }
  if (closing_) end(aborted("closed here"));
}

void Wire::end(const Status& why) {
  if (const auto handler = std::exchange(handler_, nullptr)) handler->on_closed(why);
}

namespace {

class WireListener final : public Listener {
 public:
  explicit WireListener(Address address) : address_(std::move(address)) {
    if (!address_.is_unix()) address_.port = 1;
  }
  Address address() const override { return address_; }

 private:
  Address address_;
};

}  // namespace

Result<std::unique_ptr<Listener>> WireTransport::listen(const Address& address,
                                                        AcceptHandler accept) {
  accept_ = std::make_shared<AcceptHandler>(std::move(accept));
  return std::unique_ptr<Listener>(std::make_unique<WireListener>(address));
}

void WireTransport::connect(const Address&, Duration, ConnectHandler done) {
  connecting_.push_back(std::move(done));
}

std::shared_ptr<Wire> WireTransport::accept() {
  auto wire = std::make_shared<Wire>();
  (*accept_)(wire);
  return wire;
}

std::shared_ptr<Wire> WireTransport::answer() {
  if (connecting_.empty()) return nullptr;
  auto done = std::move(connecting_.front());
  connecting_.erase(connecting_.begin());
  auto wire = std::make_shared<Wire>();
  done(std::shared_ptr<Connection>(wire));
  return wire;
}

}  // namespace freshet::fuzz
