#pragma once

#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "network/message_channel.h"
#include "network/transport.h"
#include "runtime/base/mailbox.h"
#include "runtime/graph/runtime_mode.h"

namespace freshet::bench {

/// The baseline of deployment: says the same to the same endpoints, each task in a message of its
/// own, with all of its producers, encoded on its main thread. Nothing is shared or remembered.
/// Belongs to the thread of `main`, unless said otherwise.
class NaiveDeployer final : public MessageChannel::Handler {
 public:
  NaiveDeployer(uint32_t parallelism, uint32_t endpoints, Transport& transport, Executor& main);

  /// Anywhere.
  Result<Address> listen();
  void deploy(RuntimeMode);
  /// Anywhere: until all tasks were acknowledged.
  bool wait(Duration longest);
  void close();

  void on_message(const std::shared_ptr<MessageChannel>&, std::string payload) override;
  void on_closed(const std::shared_ptr<MessageChannel>&, const Status& why) override;

 private:
  void deploy_next();
  std::string message_of(uint32_t task) const;
  uint64_t endpoint_of(uint32_t subtask) const { return subtask % endpoints_ + 1; }

  const uint32_t parallelism_;
  const uint32_t endpoints_;
  Transport& transport_;
  Mailbox mailbox_;
  std::string information_;  // Of the job, encoded.
  std::unique_ptr<Listener> listener_;
  std::set<std::shared_ptr<MessageChannel>> channels_;
  std::map<uint64_t, std::shared_ptr<MessageChannel>> by_endpoint_;
  uint32_t next_task_ = 0;
  uint64_t acknowledged_ = 0;
  std::promise<void> all_acknowledged_;
};

}  // namespace freshet::bench
