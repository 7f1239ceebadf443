#pragma once

#include <cstdint>
#include <deque>

#include "jobmanager/blob_server.h"
#include "jobmanager/control_server.h"
#include "jobmanager/job_dispatcher.h"
#include "runtime/base/mailbox.h"

namespace freshet {

namespace proto {
class FailTask;
class FailTaskReply;
}  // namespace proto

/// Answers clients: jobs, cluster, blobs. A request that is well-formed and wrong gets an error as
/// its answer; anything else closes the connection. Belongs to the main thread.
class ClientRequests : public std::enable_shared_from_this<ClientRequests> {
 public:
  static constexpr size_t kDownloadsMax = 256;            // Under way together; more wait,
  static constexpr size_t kWaitingDownloadsMax = 10'000;  // and beyond that they are refused.

  struct Options {
    uint64_t epoch = 0;
    bool submission = true;  // False: jobs and modules are refused.
    Faults* faults = nullptr;
  };

  ClientRequests(Options options, JobDispatcher& jobs, BlobServer& blobs, ControlServer& server,
                 Mailbox& mailbox)
      : options_(options), jobs_(jobs), blobs_(blobs), server_(server), mailbox_(mailbox) {}

  /// True when the message is one that this class answers for peers of this kind.
  static bool is_for(PeerRole, const proto::Envelope&);

  Status handle(SessionNumber, proto::Envelope);
  void on_closed(SessionNumber session) { blobs_.forget(session); }

 private:
  struct Download {
    SessionNumber session;
    uint64_t request;
    std::string hash;
    uint64_t offset = 0;
  };

  proto::Envelope answer(const proto::Envelope&);
  Status check_submission() const;
  void submit(const proto::Envelope& request, proto::Envelope& reply);
  void list_jobs(proto::Envelope& reply) const;
  void get_job(const proto::Envelope& request, proto::Envelope& reply) const;
  void cancel_job(const proto::Envelope& request, proto::Envelope& reply);
  void fail_task(const proto::FailTask& request, proto::FailTaskReply* answer);
  void get_cluster(proto::Envelope& reply) const;

  void put_blob(SessionNumber, proto::Envelope);
  void get_blob(SessionNumber, const proto::Envelope&);
  void send_next_chunk(Download);
  void send_chunk(Download, Result<BlobServer::Chunk>);
  void end_download();
  void reply_error(SessionNumber, uint64_t request, const Status&);

  const Options options_;
  JobDispatcher& jobs_;
  BlobServer& blobs_;
  ControlServer& server_;
  Mailbox& mailbox_;
  size_t downloads_ = 0;
  std::deque<Download> waiting_downloads_;
};

}  // namespace freshet
