#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/mailbox.h"
#include "taskmanager/blob_fetch.h"
#include "taskmanager/deployment_message.h"

namespace freshet {

/// Where producers are, as deployments named it: what was used last, up to a size. What was
/// forgotten, or never sent, is fetched from the JobManager, once for all that wait for it. Belongs
/// to the mailbox' thread.
class GateGroupCache {
 public:
  struct Options {
    uint64_t bytes_max = 64ull << 20;  // Zero: nothing is remembered.
    std::string host_id;               // See parse_group().
    BlobFetch::Options fetch;
  };
  using Group = std::shared_ptr<const GateGroup>;
  using Done = UniqueFunction<void(const Result<Group>&)>;

  /// `transport` and `mailbox` outlive it.
  GateGroupCache(Options, Transport&, Mailbox&);
  ~GateGroupCache();

  /// Null for one that is not known.
  Group find(const JobId&, const std::string& hash);
  void add(const JobId&, const std::string& hash, Group);

  /// `done` runs later, on the mailbox' thread; never after forget().
  void fetch(const JobInformation&, const std::string& hash, Done done);

  /// All of the job.
  void forget(const JobId&);

  uint64_t bytes() const { return bytes_; }
  /// Of all fetches so far.
  uint64_t fetched_bytes() const { return fetched_bytes_; }
  uint64_t fetches() const { return fetch_count_; }

 private:
  using Key = std::pair<JobId, std::string>;
  struct Entry {
    Group group;
    std::list<Key>::iterator use;
  };
  struct Fetch {
    std::shared_ptr<BlobFetch> blob;
    std::vector<Done> waiting;
  };

  void erase(const Key&);
  void end_fetch(const Key&, const Result<Group>&);

  const Options options_;
  Transport& transport_;
  Mailbox& mailbox_;
  std::map<Key, Entry> entries_;
  std::list<Key> uses_;  // The latest last.
  std::map<Key, Fetch> fetches_;
  uint64_t bytes_ = 0;
  uint64_t fetched_bytes_ = 0;
  uint64_t fetch_count_ = 0;
};

}  // namespace freshet
