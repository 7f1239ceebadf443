#include "runtime/cli/job_follower.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/cli/progress_view.h"

namespace freshet::cli {

namespace {

constexpr Duration kPollFirst = 5ms;
constexpr Duration kPollLongest = 200ms;
constexpr int kPollPart = 20;  // Of what the job took so far: its end is seen as little late.
constexpr Duration kTidyingPatience = 5s;

std::string lost_message(const Status& why, const JobId& id) {
  std::string message = why.message();
  if (why.code() == StatusCode::kUnavailable) {
    message += fmt::format(
        "; job {} has ended if its JobManager has: see whether 'freshet list' shows it, and if "
        "not, "
        "run the job again",
        id.to_string());
  }
  return message;
}

JobEnd end_of(ProgressView& view, TimePoint now, TimePoint submitted, const JobReport& job) {
  view.finish(now, job);
  JobEnd end{job, now - submitted, Status(), false};
  if (job.state == JobState::kFailed) {
    end.status = aborted(job.cause.ok() ? std::string("the job failed") : job.cause.message());
    view.note("freshet: " + end.status.message());
  } else if (job.state != JobState::kFinished) {
    end.status = aborted("the job was cancelled");
  }
  return end;
}

}  // namespace

JobEnd follow_job(ControlClient& client, const JobId& id, TimePoint submitted, const Clock& clock,
                  SignalWaiter& signals, const std::string& left) {
  const auto screen = make_error_screen();
  ProgressView view(*screen, submitted);
  Duration poll = kPollFirst;
  bool cancelling = false;
  std::optional<JobReport> last;
  std::optional<JobReport> end;  // What the job ended with, while it is tidied up after.
  TimePoint ended{};
  while (true) {
    const auto signal = signals.wait(poll);
    if (signal && *signal != SignalWaiter::Signal::kChild) {
      if (cancelling) {
        view.note(left);
        return {last, clock.now() - submitted, aborted(left), true};
      }
      cancelling = true;
      view.note("Cancelling; interrupt again to leave at once.");
      if (const Status refused = client.cancel(id); !refused.ok())
        view.note("freshet: " + refused.message());
      poll = kPollFirst;
    }
    const auto job = client.get(id);
    if (!job.ok() && end) return end_of(view, ended, submitted, *end);
    if (!job.ok()) {
      const Status lost(job.status().code(), lost_message(job.status(), id));
      view.note("freshet: " + lost.message());
      return {last, clock.now() - submitted, lost, false};
    }
    last = *job;
    if (is_terminal(job->state)) {
      // The next run may want the same output directory: it must not meet what this one left.
      if (!end) ended = clock.now();
      end = *job;
      if (!job->tidying || clock.now() - ended >= kTidyingPatience)
        return end_of(view, ended, submitted, *end);
      poll = kPollFirst;
      continue;
    }
    view.update(clock.now(), *job);
    poll = std::clamp<Duration>((clock.now() - submitted) / kPollPart, kPollFirst, kPollLongest);
  }
}

}  // namespace freshet::cli
