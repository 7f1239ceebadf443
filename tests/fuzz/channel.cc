#include "network/message_channel.h"
#include "runtime/base/check.h"
#include "runtime/base/manual_executor.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/messages.h"
#include "tests/fuzz/targets.h"
#include "tests/fuzz/wire.h"

namespace freshet::fuzz {

namespace {

class Receiver final : public MessageChannel::Handler {
 public:
  void on_message(const std::shared_ptr<MessageChannel>&, std::string payload) override {
    CHECK(!closed);
    messages.push_back(std::move(payload));
  }
  void on_closed(const std::shared_ptr<MessageChannel>&, const Status& status) override {
    CHECK(!closed);
    closed = true;
    why = status;
  }

  std::vector<std::string> messages;
  bool closed = false;
  Status why;
};

Receiver receive(std::string_view stream, Cuts cuts) {
  ManualClock clock;
  ManualExecutor executor(clock);
  Mailbox mailbox(executor);
  Receiver receiver;
  auto wire = std::make_shared<Wire>();
  mailbox.post("open", [&] { (void)MessageChannel::open(wire, mailbox, receiver); });
  executor.run_ready();
  while (!stream.empty() && wire->is_open()) {
    const size_t size = std::max<size_t>(1, cuts.next(stream.size()));
    stream.remove_prefix(wire->deliver(stream.substr(0, size)));
    if (size % 2 == 0) executor.run_ready();
  }
  wire->end();
  executor.run_ready();
  CHECK(receiver.closed);
  return receiver;
}

}  // namespace

/// input := seed of the cuts, stream of control messages. However a stream is cut, the same
/// messages come out, and together they are what was sent.
void channel(std::string_view bytes) {
  Input input(bytes);
  const uint8_t seed = input.byte();
  const Receiver whole = receive(input.rest(), Cuts(0));
  const Receiver cut = receive(input.rest(), Cuts(seed));
  CHECK(whole.messages == cut.messages && whole.why.code() == cut.why.code());
  std::string sent;
  for (const std::string& message : whole.messages) sent += on_the_wire(message);
  CHECK(input.rest().starts_with(sent));
  CHECK(!whole.why.ok() || sent.size() == input.rest().size());
}

Seeds channel_seeds() {
  const std::string messages = on_the_wire("hello") + on_the_wire("") + on_the_wire("good bye");
  const std::string large = on_the_wire(std::string(5000, 'x'));
  return {"a" + messages, std::string(1, '\0') + large + messages, "b" + large.substr(0, 700)};
}

}  // namespace freshet::fuzz
