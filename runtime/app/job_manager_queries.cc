#include "runtime/app/job_manager_queries.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>

#include "runtime/app/host_id.h"
#include "runtime/app/process_logs.h"
#include "runtime/app/process_threads.h"
#include "runtime/base/log.h"

namespace freshet {

namespace {

constexpr std::string_view kTaskManagerMain = "tm-main";  // A thread of each.
constexpr auto kPatience = std::chrono::seconds(10);

/// Whoever does not get to it says so.
template <class Answer>
class Question {
 public:
  ~Question() {
    if (!answered_) promise_.set_value(unavailable("the JobManager is ending"));
  }
  void answer(Answer answer) {
    answered_ = true;
    promise_.set_value(std::move(answer));
  }
  std::future<Answer> future() { return promise_.get_future(); }

 private:
  std::promise<Answer> promise_;
  bool answered_ = false;
};

}  // namespace

JobManagerQueries::JobManagerQueries(JobManager& job_manager, Executor& main, const Clock& clock,
                                     const Configuration& configuration, FileSystem& files,
                                     Process process)
    : job_manager_(job_manager),
      main_(main),
      clock_(clock),
      files_(files),
      own_(std::move(process)),
      process_(files, clock) {
  for (const auto& [name, value] : configuration.values()) {
    if (name != config::kSecret.name) settings_.push_back({name, value});
  }
}

template <class Answer, class Ask>
Answer JobManagerQueries::ask(Ask ask) {
  auto question = std::make_unique<Question<Answer>>();
  const auto abandoned = std::make_shared<std::atomic<bool>>(false);
  std::future<Answer> answer = question->future();
  main_.post("rest_query", [abandoned, question = std::move(question), ask = std::move(ask)] {
    if (!*abandoned) question->answer(ask());  // Or nobody waits any more.
  });
  if (answer.wait_for(kPatience) == std::future_status::ready) return answer.get();
  *abandoned = true;
  return Status(StatusCode::kDeadlineExceeded, "the JobManager did not answer in time");
}

Result<std::vector<JobSummaryView>> JobManagerQueries::jobs() {
  return ask<Result<std::vector<JobSummaryView>>>([this] {
    std::vector<JobSummaryView> views;
    for (const auto& record : job_manager_.jobs().jobs())
      views.push_back(summary_of(*record, clock_));
    return Result<std::vector<JobSummaryView>>(std::move(views));
  });
}

Result<JobView> JobManagerQueries::job(JobId id) {
  return ask<Result<JobView>>([this, id]() -> Result<JobView> {
    const JobRecord* record = job_manager_.jobs().find(id);
    if (record == nullptr) return not_found("no job has the id " + id.to_string());
    return view_of(*record, clock_);
  });
}

Status JobManagerQueries::cancel(JobId id) {
  return ask<Status>([this, id] { return job_manager_.cancel(id); });
}

Result<std::vector<TaskManagerView>> JobManagerQueries::task_managers() {
  return ask<Result<std::vector<TaskManagerView>>>([this] {
    std::vector<TaskManagerView> views = task_managers_of(job_manager_.jobs());
    for (TaskManagerView& view : views) {
      const auto word = job_manager_.last_word(view.id);
      if (!word) continue;
      view.last_heard = clock_.epoch_millis() - to_millis(clock_.now() - word->heard);
      view.numbers = word->numbers;
    }
    return Result<std::vector<TaskManagerView>>(std::move(views));
  });
}

Result<TaskManagerView> JobManagerQueries::on_this_machine(TaskManagerId id,
                                                           const std::string& what) {
  ASSIGN_OR_RETURN(const auto views, task_managers());
  const auto found = std::ranges::find(views, id, &TaskManagerView::id);
  if (found == views.end())
    return not_found("there is no TaskManager '" + to_string(id) + "'; /taskmanagers lists them");
  if (found->host_id == host_id(files_)) return *found;
  return not_found(
      fmt::format("{} of {} is on its own machine, {}", what, found->name, found->data_host));
}

Result<std::string> JobManagerQueries::log_path(std::optional<TaskManagerId> id) {
  if (!id) return own_.log_path;
  ASSIGN_OR_RETURN(const TaskManagerView view, on_this_machine(*id, "the log"));
  return view.log_path;
}

Result<std::vector<ThreadView>> JobManagerQueries::threads(std::optional<TaskManagerId> id) {
  if (!id) return threads_of("self", files_);
  ASSIGN_OR_RETURN(const TaskManagerView view, on_this_machine(*id, "the process"));
  ASSIGN_OR_RETURN(auto threads, threads_of(std::to_string(view.pid), files_));
  // Containers may look like one machine, and number their processes alike.
  if (std::ranges::count(threads, kTaskManagerMain, &ThreadView::name) != 0) return threads;
  return not_found(fmt::format("the process of {} cannot be seen from here", view.name));
}

std::string JobManagerQueries::architecture() const {
  utsname names{};
  return uname(&names) == 0 ? names.machine : "";
}

Result<std::vector<LogFileView>> JobManagerQueries::logs(std::optional<TaskManagerId> id) {
  ASSIGN_OR_RETURN(const std::string path, log_path(id));
  return log_files(path, files_);
}

Result<std::string> JobManagerQueries::log_text(std::optional<TaskManagerId> id,
                                                const std::string& name) {
  ASSIGN_OR_RETURN(const std::string path, log_path(id));
  const std::string file = name == "log"      ? log_name(path)
                           : name == "stdout" ? output_name(path)
                                              : name;
  return freshet::log_text(path, file, files_);
}

Status JobManagerQueries::shut_down() {
  if (!own_.shut_down) return failed_precondition("this cluster cannot be told to end");
  LOG_INFO("cluster_ends", {{"cause", "asked for by the REST API"}});
  own_.shut_down();
  return Status();
}

}  // namespace freshet
