#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/rest/cluster_queries.h"
#include "runtime/rest/http_message.h"
#include "runtime/rest/job_events.h"
#include "runtime/rest/module_requests.h"

namespace freshet::rest {

/// Answers requests with Flink's paths, keys and states; every path also below `/v1`. What is wrong
/// is `{"errors": ["..."]}` with a status that fits: 400 for what makes no sense, 404 for what is
/// not there, 405 with another method, 409 for what cannot be done now, 503 when the JobManager did
/// not answer.
///
/// Thread-safe, as far as the queries are.
class RestApi {
 public:
  /// Without `modules` none can be uploaded, without `events` they cannot be followed.
  explicit RestApi(ClusterQueries& queries, UploadedModules* modules = nullptr,
                   std::shared_ptr<JobEvents> events = nullptr);

  Response handle(const Request&) const;
  /// See RequestHandlers.
  std::optional<Response> admit(const Request&) const;
  Result<std::shared_ptr<BodyReceiver>> open_body(const Request&) const;

 private:
  /// What stood at the `:` of a route, in order.
  using Parameters = std::vector<std::string>;
  using Handler = Result<Response> (RestApi::*)(const Parameters&, const Request&) const;
  struct Route {
    const char* method;
    const char* path;  // `/jobs/:jobid/plan`
    Handler handler;
  };
  static const std::vector<Route>& routes();

  Result<Response> show_config(const Parameters&, const Request&) const;
  Result<Response> show_overview(const Parameters&, const Request&) const;
  Result<Response> list_jobs(const Parameters&, const Request&) const;
  Result<Response> list_job_overviews(const Parameters&, const Request&) const;
  Result<Response> show_job(const Parameters&, const Request&) const;
  Result<Response> follow_jobs(const Parameters&, const Request&) const;
  Result<Response> cancel_job(const Parameters&, const Request&) const;
  Result<Response> show_job_plan(const Parameters&, const Request&) const;
  Result<Response> show_job_status(const Parameters&, const Request&) const;
  Result<Response> show_job_config(const Parameters&, const Request&) const;
  Result<Response> show_job_exceptions(const Parameters&, const Request&) const;
  Result<Response> show_job_metrics(const Parameters&, const Request&) const;
  Result<Response> show_vertex(const Parameters&, const Request&) const;
  Result<Response> show_back_pressure(const Parameters&, const Request&) const;
  Result<Response> show_subtask_times(const Parameters&, const Request&) const;
  Result<Response> show_vertex_task_managers(const Parameters&, const Request&) const;
  Result<Response> show_watermarks(const Parameters&, const Request&) const;
  Result<Response> show_subtask(const Parameters&, const Request&) const;
  Result<Response> show_vertex_metrics(const Parameters&, const Request&) const;
  Result<Response> show_subtasks_metrics(const Parameters&, const Request&) const;
  Result<Response> show_subtask_metrics(const Parameters&, const Request&) const;
  Result<Response> list_task_managers(const Parameters&, const Request&) const;
  Result<Response> show_task_manager(const Parameters&, const Request&) const;
  Result<Response> show_task_managers_metrics(const Parameters&, const Request&) const;
  Result<Response> show_task_manager_metrics(const Parameters&, const Request&) const;
  Result<Response> show_jobs_metrics(const Parameters&, const Request&) const;
  Result<Response> show_job_manager_config(const Parameters&, const Request&) const;
  Result<Response> show_job_manager_environment(const Parameters&, const Request&) const;
  Result<Response> show_job_manager_metrics(const Parameters&, const Request&) const;

  Result<Response> list_modules(const Parameters&, const Request&) const;
  Result<Response> upload_module(const Parameters&, const Request&) const;
  Result<Response> run_module(const Parameters&, const Request&) const;
  Result<Response> show_module_plan(const Parameters&, const Request&) const;
  Result<Response> remove_module(const Parameters&, const Request&) const;

  Result<Response> shut_down(const Parameters&, const Request&) const;
  Result<Response> list_logs(const Parameters&, const Request&) const;
  Result<Response> show_threads(const Parameters&, const Request&) const;
  Result<Response> show_log(const Parameters&, const Request&) const;

  Result<JobView> job(const Parameters&) const;
  Result<TaskManagerView> task_manager(const Parameters&) const;
  /// Whose logs a path asks for; nullopt: the JobManager's.
  Result<std::optional<TaskManagerId>> process(const Parameters&, const Request&) const;

  Result<ModuleRequests> modules() const;

  ClusterQueries& queries_;
  UploadedModules* const modules_;
  const std::shared_ptr<JobEvents> events_;
};

}  // namespace freshet::rest
