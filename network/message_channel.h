#pragma once

#include <deque>
#include <memory>
#include <string>

#include "network/transport.h"
#include "runtime/base/mailbox.h"

namespace freshet {

inline constexpr uint32_t kControlMagic = 0x46525348;    // "HSRF" on the wire: little-endian.
inline constexpr uint32_t kMessageBytesMax = 64u << 20;  // Of one control message.
inline constexpr uint32_t kOpeningBytesMax = 16u
                                             << 10;  // Of one in which a stranger says who he is.
inline constexpr uint64_t kMessageQueueBytesMax =
    256u << 20;  // Not yet sent; beyond it the connection is closed.

/// Whole control messages over a connection, in both directions:
///
///   stream  := message*
///   message := u32 magic, u32 size (of the payload, little-endian), payload
///
/// Belongs to the thread of its mailbox: all functions are called there, and all events come there.
/// Anything else than this grammar, or a message above kMessageBytesMax, closes the connection with
/// an error that says so; so do more than kMessageQueueBytesMax of messages that wait, either here
/// for the peer or in the mailbox for the handler.
///
/// Lives until on_closed() or detach(), whoever holds it.
class MessageChannel : public std::enable_shared_from_this<MessageChannel> {
 public:
  class Handler {
   public:
    virtual ~Handler() = default;
    virtual void on_message(const std::shared_ptr<MessageChannel>&, std::string payload) = 0;
    /// Last call. See ConnectionHandler::on_closed.
    virtual void on_closed(const std::shared_ptr<MessageChannel>&, const Status& why) = 0;
  };

  /// Starts the connection. `handler` and `mailbox` must outlive the channel, or detach() is called
  /// first. Messages of the peer have at most `bytes_max`, until take_large_messages().
  static std::shared_ptr<MessageChannel> open(std::shared_ptr<Connection> connection,
                                              Mailbox& mailbox, Handler& handler,
                                              uint32_t bytes_max = kMessageBytesMax);

  virtual ~MessageChannel() = default;

  /// From now on messages of the peer may have kMessageBytesMax. It must not send any before it is
  /// told so.
  virtual void take_large_messages() = 0;

  /// Queues a message; never blocks.
  virtual void send(std::string payload) = 0;

  /// Ends the connection after what is queued has been sent (bounded by `linger`), or at once.
  /// on_closed() follows, and no message before it.
  virtual void close_after_sending(Duration linger) = 0;
  virtual void close() = 0;

  /// No event comes after this; the connection is closed.
  virtual void detach() = 0;

  /// Bytes given to send() that have not left yet: lets a sender of much keep below
  /// kMessageQueueBytesMax.
  virtual uint64_t unsent_bytes() const = 0;

  virtual Address local_address() const = 0;
  virtual Address remote_address() const = 0;
};

}  // namespace freshet
