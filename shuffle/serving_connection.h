#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "network/frame.h"
#include "network/transport.h"
#include "runtime/base/mutex.h"
#include "runtime/base/thread_annotations.h"
#include "shuffle/data_messages.h"
#include "shuffle/dataset_index.h"

namespace freshet {

/// The producing side of the connection to one consuming TaskManager, which made it: serves all
/// that is attached over it. Ready channels wait in one queue and are taken in turns by bytes, as
/// far as the credit of each goes; many buffers leave in one send.
///
/// Thread-safe. One lock, for the list of what is ready and for credits; never held while anything
/// else is called.
class ServingConnection final : public ConnectionHandler,
                                public std::enable_shared_from_this<ServingConnection> {
 public:
  struct Context {
    std::shared_ptr<DatasetIndex> index;
    std::string secret;
    std::shared_ptr<std::atomic<int64_t>> unconfirmed_sends;
    std::function<void()> on_closed;
  };

  ServingConnection(std::shared_ptr<Connection> connection, Context context);
  ~ServingConnection() override;

  void start();
  void close();
  /// The time for a valid hello is over.
  void close_unless_greeted();

  Status on_bytes(std::string_view bytes) override;
  void on_sent() override;
  void on_closed(const Status& why) override;

 private:
  class Reader;

  struct Channel {
    std::shared_ptr<PartitionQueues> partition;
    uint64_t credit_bytes = 0;
    uint32_t next_charge = 0;  // What it waits for credit for; 0: it does not.
    bool listed = false;       // In ready_.
  };
  struct Served {
    std::shared_ptr<Reader> reader;
    std::map<uint32_t, Channel> channels;  // By producer; only those that had something.
    ProducerSet ended;                     // Not sent yet.
  };
  struct Turn {
    uint32_t attachment = 0;
    uint32_t producer = 0;
  };
  struct OutgoingFrame {
    FrameHeader header;
    Buffer buffer;
  };

  // From readers, on any thread.
  void channel_ready(uint32_t attachment, const std::shared_ptr<PartitionQueues>& partition);
  void producer_ended(uint32_t attachment, uint32_t producer);
  void channels_lost(uint32_t attachment, const Loss& loss);

  // From the peer.
  Status on_frame(const FrameHeader& header, std::string_view payload);
  Status on_hello(const FrameHeader& header, std::string_view payload);
  Status on_attach(uint32_t attachment, std::string_view payload);
  Status on_credit(std::string_view payload);
  void on_detach(uint32_t attachment);

  void pump();
  bool has_work() const REQUIRES(mutex_);
  void gather(std::string* control, std::vector<OutgoingFrame>* frames);
  bool next_turn(Turn* turn, std::shared_ptr<Reader>* reader,
                 std::shared_ptr<PartitionQueues>* partition, uint64_t* credit);
  void after_turn(const Turn& turn, const PartitionQueues::Taken& taken);
  void take_control(std::string* control);
  void list(uint32_t attachment, uint32_t producer, Channel* channel) REQUIRES(mutex_);
  void add_ended(uint32_t attachment, Served* served, uint32_t producer) REQUIRES(mutex_);
  static std::vector<OutgoingBytes> to_pieces(std::string control,
                                              std::vector<OutgoingFrame> frames);

  const std::shared_ptr<Connection> connection_;
  const Context context_;
  FrameReader frames_;                 // Connection's thread.
  std::atomic<bool> greeted_ = false;  // Set once, there.

  Mutex mutex_;
  std::map<uint32_t, Served> served_ GUARDED_BY(mutex_);
  std::deque<Turn> ready_ GUARDED_BY(mutex_);
  std::vector<uint32_t> with_ends_ GUARDED_BY(mutex_);  // Attachments whose `ended` is not empty.
  std::string replies_ GUARDED_BY(mutex_);
  bool sending_ GUARDED_BY(mutex_) = false;  // From gathering to on_sent().
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace freshet
