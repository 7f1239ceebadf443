#include "runtime/rest/job_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "runtime/rest/rest_json.h"

namespace freshet::rest {

namespace {

std::string event_text(const char* kind, const Json& data) {
  return fmt::format("event: {}\ndata: {}\n\n", kind,
                     data.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string job_text(const JobSummaryView& job, JobState state, EpochMillis at) {
  return event_text("job", Json{{"jid", job.id.to_string()},
                                {"name", job.name},
                                {"state", job_state_name(state)},
                                {"timestamp", at}});
}

std::string vertex_text(const JobSummaryView& job, const VertexView& vertex,
                        const std::string& state, EpochMillis at) {
  return event_text("vertex", Json{{"jid", job.id.to_string()},
                                   {"vertex-id", vertex.id},
                                   {"name", vertex.name},
                                   {"status", state},
                                   {"timestamp", at}});
}

/// Times of a view are made of a clock that only goes on, and of the one on the wall, each time.
bool is_same_time(EpochMillis a, EpochMillis b) { return std::abs(a - b) <= 2; }

constexpr size_t kBatchBytesMax = 64 << 10;
constexpr const char* kMissed = "event: missed\ndata: {}\n\n";
constexpr const char* kEnd = "event: end\ndata: {}\n\n";
constexpr const char* kHeart = ": nothing has changed\n\n";

}  // namespace

/// One client's place among the events.
class JobEvents::Stream final : public EventStream {
 public:
  explicit Stream(std::shared_ptr<JobEvents> events)
      : events_(std::move(events)), said_(events_->clock_.now()) {}
  ~Stream() override {
    const std::lock_guard lock(events_->mutex_);
    events_->streams_--;
  }

  /// With the lock: from now on.
  void begin(std::optional<JobId> job) {
    job_ = job;
    begin_ = ": the present states, then what changes\n\n" + events_->snapshot(job);
    next_ = events_->dropped_ + events_->events_.size();
    last_ = job && is_terminal(events_->known_.at(*job).summary.state);
    if (last_) begin_ += kEnd;
  }

  std::optional<std::string> next() override {
    if (!begin_.empty()) return std::exchange(begin_, "");
    if (last_) return std::nullopt;
    events_->look_if_due();
    Batch batch = events_->read(job_, &next_);
    last_ = batch.last;
    if (last_) batch.text += kEnd;
    const TimePoint now = events_->clock_.now();
    if (batch.text.empty() && now - said_ >= kHeartbeat) batch.text = kHeart;
    if (!batch.text.empty()) said_ = now;
    return std::move(batch.text);
  }

 private:
  const std::shared_ptr<JobEvents> events_;
  std::optional<JobId> job_;
  std::string begin_;
  uint64_t next_ = 0;
  bool last_ = false;
  TimePoint said_;
};

Result<std::shared_ptr<EventStream>> JobEvents::follow(std::optional<JobId> job) {
  std::shared_ptr<Stream> stream;
  {
    const std::lock_guard lock(mutex_);
    if (streams_ >= kStreamsMax)
      return resource_exhausted(fmt::format(
          "{} clients follow events, and no more can; ask /jobs/overview now and then", streams_));
    streams_++;
    stream = std::make_shared<Stream>(shared_from_this());
  }
  {
    const std::lock_guard looking(looking_);
    RETURN_IF_ERROR(look());
  }
  const std::lock_guard lock(mutex_);
  if (job && !known_.contains(*job)) return not_found("no job has the id " + job->to_string());
  stream->begin(job);
  return std::shared_ptr<EventStream>(std::move(stream));
}

void JobEvents::look_if_due() {
  const std::unique_lock looking(looking_, std::try_to_lock);
  if (!looking) return;
  {
    const std::lock_guard lock(mutex_);
    if (looked_ && clock_.now() - *looked_ < kLook) return;
  }
  // A JobManager that does not answer is asked again.
  if (const Status looked = look(); !looked.ok()) {
    const std::lock_guard lock(mutex_);
    looked_ = clock_.now();
  }
}

Status JobEvents::look() {
  ASSIGN_OR_RETURN(const auto jobs, queries_.jobs());
  for (const JobId& id : changed(jobs)) {
    const auto view = queries_.job(id);
    if (view.status().code() == StatusCode::kNotFound) continue;
    RETURN_IF_ERROR(view.status());
    const std::lock_guard lock(mutex_);
    take(*view);
  }
  const std::lock_guard lock(mutex_);
  looked_ = clock_.now();
  return Status();
}

std::vector<JobId> JobEvents::changed(const std::vector<JobSummaryView>& jobs) {
  const std::lock_guard lock(mutex_);
  std::vector<JobId> ids;
  std::map<JobId, Known> known;
  for (const JobSummaryView& job : jobs) {
    const auto found = known_.extract(job.id);
    const bool is_new = found.empty();
    Known& one = known[job.id];
    if (!is_new) one = std::move(found.mapped());
    if (is_new && is_terminal(job.state)) {  // What it has been nobody saw.
      one.summary = job;
      one.text = job_text(job, job.state, job.ended);
    } else if (is_new || one.summary.state != job.state || one.summary.counts != job.counts ||
               (!is_terminal(job.state) &&
                !is_same_time(one.summary.last_modification, job.last_modification))) {
      ids.push_back(job.id);
    }
  }
  known_ = std::move(known);  // Those that are gone are forgotten.
  return ids;
}

void JobEvents::take(const JobView& view) {
  Known& known = known_[view.summary.id];
  known.summary = view.summary;
  take_states(view, known, false);
  known.vertices.resize(view.vertices.size());
  for (size_t i = 0; i < view.vertices.size(); i++) {
    auto& [state, text] = known.vertices[i];
    const VertexView& vertex = view.vertices[i];
    const std::string now = vertex_state_name(vertex.counts, vertex.parallelism);
    if (state == now) continue;
    state = now;
    text = vertex_text(view.summary, vertex, now, view.now);
    add({view.summary.id, text});
  }
  take_states(view, known, true);
}

/// Those that end the job, or all others.
void JobEvents::take_states(const JobView& view, Known& known, bool ends) {
  auto entered = view.entered;
  std::ranges::stable_sort(entered, {}, &std::pair<JobState, EpochMillis>::second);
  for (const auto& [state, at] : entered) {
    // Flink does not know COMMITTING: it goes on RUNNING.
    if (is_terminal(state) != ends || state == JobState::kCommitting) continue;
    const auto [before, is_new] = known.entered.emplace(state, at);
    if (!is_new && is_same_time(before->second, at)) continue;
    before->second = at;
    known.text = job_text(view.summary, state, at);
    add({view.summary.id, known.text, ends});
  }
}

void JobEvents::add(Event event) {
  events_.push_back(std::move(event));
  if (events_.size() > kEventsMax) {
    events_.pop_front();
    dropped_++;
  }
  added_.notify_all();
}

std::string JobEvents::snapshot(std::optional<JobId> job) const {
  std::string text;
  for (const auto& [id, known] : known_) {
    if (job && id != *job) continue;
    text += known.text;
    if (!job) continue;
    for (const auto& [state, vertex] : known.vertices) text += vertex;
  }
  return text;
}

JobEvents::Batch JobEvents::read(std::optional<JobId> job, uint64_t* next) {
  std::unique_lock lock(mutex_);
  const auto end = [this] { return dropped_ + events_.size(); };
  added_.wait_for(lock, kLook, [&] { return end() > *next; });
  Batch batch;
  if (*next < dropped_) {
    *next = end();
    batch.text = kMissed + snapshot(job);
    batch.last = job && (!known_.contains(*job) || is_terminal(known_.at(*job).summary.state));
    return batch;
  }
  for (; *next < end() && batch.text.size() < kBatchBytesMax && !batch.last; ++*next) {
    const Event& event = events_[*next - dropped_];
    if (job && event.job != *job) continue;
    batch.text += event.text;
    batch.last = job && event.last;
  }
  return batch;
}

}  // namespace freshet::rest
