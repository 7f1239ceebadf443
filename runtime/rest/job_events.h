#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/rest/cluster_queries.h"
#include "runtime/rest/http_message.h"

namespace freshet::rest {

/// Changes of the states of jobs and vertices, for clients that follow them as Server-Sent Events.
///
/// While somebody follows, the JobManager is asked at most five times a second, however many do;
/// one of those who wait does it. A vertex that is in a state for shorter is not seen there, a job
/// is. What was seen is kept once for all, and who reads too slowly is told that events are
/// missing. Thread-safe.
class JobEvents : public std::enable_shared_from_this<JobEvents> {
 public:
  static constexpr size_t kStreamsMax = 32;
  static constexpr size_t kEventsMax = 4096;
  static constexpr Duration kLook = 200ms;
  static constexpr Duration kHeartbeat = 5s;

  JobEvents(ClusterQueries& queries, const Clock& clock) : queries_(queries), clock_(clock) {}

  /// The states of now, and then what changes, until the job has ended; of all jobs without one.
  /// kResourceExhausted when too many follow, kNotFound when there is no such job.
  Result<std::shared_ptr<EventStream>> follow(std::optional<JobId> job);

 private:
  class Stream;

  struct Event {
    JobId job;
    std::string text;
    bool last = false;  // The job has ended.
  };
  /// What was seen of a job. With the texts that say so: first of the job, then of each vertex.
  struct Known {
    JobSummaryView summary;
    std::map<JobState, EpochMillis> entered;
    std::string text;
    std::vector<std::pair<std::string, std::string>> vertices;  // State and text.
  };
  struct Batch {
    std::string text;
    bool last = false;
  };

  /// Asks the JobManager, unless somebody just did or does.
  void look_if_due();
  Status look();
  /// Of these jobs, those that must be looked at closer.
  std::vector<JobId> changed(const std::vector<JobSummaryView>& jobs);
  // With the lock.
  void take(const JobView& view);
  void take_states(const JobView& view, Known& known, bool ends);
  void add(Event event);
  std::string snapshot(std::optional<JobId> job) const;

  /// What comes from `next` on, which is moved; waits for a moment when there is nothing.
  Batch read(std::optional<JobId> job, uint64_t* next);

  ClusterQueries& queries_;
  const Clock& clock_;
  std::mutex looking_;  // Held by who asks; taken before the other.
  std::mutex mutex_;
  std::condition_variable added_;
  size_t streams_ = 0;
  std::optional<TimePoint> looked_;
  std::map<JobId, Known> known_;
  std::deque<Event> events_;
  uint64_t dropped_ = 0;  // Before those.
};

}  // namespace freshet::rest
