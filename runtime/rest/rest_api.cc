#include "runtime/rest/rest_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "runtime/base/version.h"
#include "runtime/graph/json_plan.h"
#include "runtime/rest/rest_json.h"
#include "runtime/rest/rest_metrics.h"
#include "runtime/rest/vertex_json.h"

namespace freshet::rest {

namespace {

constexpr size_t kParameterShown = 64;

Response respond(std::string json, int status = 200) {
  Response response;
  response.status = status;
  response.body = std::move(json);
  return response;
}

Response respond(const Json& json, int status = 200) {
  return respond(json.dump(-1, ' ', false, Json::error_handler_t::replace), status);
}

std::vector<std::string_view> segments_of(std::string_view path) {
  std::vector<std::string_view> segments;
  while (!path.empty()) {
    const size_t slash = path.find('/');
    if (slash != 0) segments.push_back(path.substr(0, slash));
    path.remove_prefix(slash == path.npos ? path.size() : slash + 1);
  }
  return segments;
}

/// What stands at the `:` of the route; nullopt when the path is another one.
std::optional<std::vector<std::string>> match(std::string_view route,
                                              const std::vector<std::string_view>& path) {
  const std::vector<std::string_view> wanted = segments_of(route);
  if (wanted.size() != path.size()) return std::nullopt;
  std::vector<std::string> parameters;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].starts_with(':')) {
      parameters.emplace_back(path[i]);
    } else if (wanted[i] != path[i]) {
      return std::nullopt;
    }
  }
  return parameters;
}

std::string query_text(const Request& request, const std::string& name) {
  const auto found = request.query.find(name);
  return found == request.query.end() ? "" : found->second;
}

std::vector<std::string> query_list(const Request& request, const std::string& name) {
  return split_list(query_text(request, name));
}

Result<size_t> query_number(const Request& request, const std::string& name, size_t otherwise) {
  const std::string text = query_text(request, name);
  if (text.empty()) return otherwise;
  size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    return invalid_argument(
        fmt::format("{}='{}' is no whole number", name, text.substr(0, kParameterShown)));
  return number;
}

Result<const VertexView*> find_vertex(const JobView& job, const std::string& id) {
  const auto found = std::ranges::find(job.vertices, id, &VertexView::id);
  if (found != job.vertices.end()) return &*found;
  return not_found(fmt::format("job {} has no vertex '{}'", job.summary.id.to_string(),
                               id.substr(0, kParameterShown)));
}

Result<const SubtaskView*> find_subtask(const VertexView& vertex, const std::string& index) {
  ASSIGN_OR_RETURN(const auto chosen, parse_indices(index, vertex.parallelism));
  if (chosen.size() == 1) return &vertex.subtasks.at(chosen.front());
  return invalid_argument(
      fmt::format("'{}' is no index of a subtask", index.substr(0, kParameterShown)));
}

}  // namespace

RestApi::RestApi(ClusterQueries& queries, UploadedModules* modules,
                 std::shared_ptr<JobEvents> events)
    : queries_(queries), modules_(modules), events_(std::move(events)) {}

const std::vector<RestApi::Route>& RestApi::routes() {
  static const std::vector<Route> routes = {
      {"GET", "/config", &RestApi::show_config},
      {"GET", "/overview", &RestApi::show_overview},
      {"GET", "/jobs", &RestApi::list_jobs},
      {"GET", "/jobs/overview", &RestApi::list_job_overviews},
      {"GET", "/jobs/metrics", &RestApi::show_jobs_metrics},
      {"GET", "/jobs/events", &RestApi::follow_jobs},
      {"GET", "/jobs/:jobid", &RestApi::show_job},
      {"PATCH", "/jobs/:jobid", &RestApi::cancel_job},
      {"GET", "/jobs/:jobid/events", &RestApi::follow_jobs},
      {"GET", "/jobs/:jobid/plan", &RestApi::show_job_plan},
      {"GET", "/jobs/:jobid/status", &RestApi::show_job_status},
      {"GET", "/jobs/:jobid/config", &RestApi::show_job_config},
      {"GET", "/jobs/:jobid/exceptions", &RestApi::show_job_exceptions},
      {"GET", "/jobs/:jobid/metrics", &RestApi::show_job_metrics},
      {"GET", "/jobs/:jobid/vertices/:vertexid", &RestApi::show_vertex},
      {"GET", "/jobs/:jobid/vertices/:vertexid/backpressure", &RestApi::show_back_pressure},
      {"GET", "/jobs/:jobid/vertices/:vertexid/subtasktimes", &RestApi::show_subtask_times},
      {"GET", "/jobs/:jobid/vertices/:vertexid/taskmanagers", &RestApi::show_vertex_task_managers},
      {"GET", "/jobs/:jobid/vertices/:vertexid/watermarks", &RestApi::show_watermarks},
      {"GET", "/jobs/:jobid/vertices/:vertexid/metrics", &RestApi::show_vertex_metrics},
      {"GET", "/jobs/:jobid/vertices/:vertexid/subtasks/metrics", &RestApi::show_subtasks_metrics},
      {"GET", "/jobs/:jobid/vertices/:vertexid/subtasks/:subtaskindex", &RestApi::show_subtask},
      {"GET", "/jobs/:jobid/vertices/:vertexid/subtasks/:subtaskindex/attempts/:attempt",
       &RestApi::show_subtask},
      {"GET", "/jobs/:jobid/vertices/:vertexid/subtasks/:subtaskindex/metrics",
       &RestApi::show_subtask_metrics},
      {"GET", "/taskmanagers", &RestApi::list_task_managers},
      {"GET", "/taskmanagers/metrics", &RestApi::show_task_managers_metrics},
      {"GET", "/taskmanagers/:taskmanagerid", &RestApi::show_task_manager},
      {"GET", "/taskmanagers/:taskmanagerid/metrics", &RestApi::show_task_manager_metrics},
      {"GET", "/taskmanagers/:taskmanagerid/logs", &RestApi::list_logs},
      {"GET", "/taskmanagers/:taskmanagerid/logs/:name", &RestApi::show_log},
      {"GET", "/taskmanagers/:taskmanagerid/log", &RestApi::show_log},
      {"GET", "/taskmanagers/:taskmanagerid/stdout", &RestApi::show_log},
      {"GET", "/taskmanagers/:taskmanagerid/thread-dump", &RestApi::show_threads},
      {"GET", "/jobmanager/thread-dump", &RestApi::show_threads},
      {"GET", "/jobmanager/environment", &RestApi::show_job_manager_environment},
      {"GET", "/jobmanager/config", &RestApi::show_job_manager_config},
      {"GET", "/jobmanager/metrics", &RestApi::show_job_manager_metrics},
      {"GET", "/jobmanager/logs", &RestApi::list_logs},
      {"GET", "/jobmanager/logs/:name", &RestApi::show_log},
      {"GET", "/jobmanager/log", &RestApi::show_log},
      {"GET", "/jobmanager/stdout", &RestApi::show_log},
      {"GET", "/jars", &RestApi::list_modules},
      {"POST", "/jars/upload", &RestApi::upload_module},
      {"POST", "/jars/:jarid/run", &RestApi::run_module},
      {"GET", "/jars/:jarid/plan", &RestApi::show_module_plan},
      {"POST", "/jars/:jarid/plan", &RestApi::show_module_plan},
      {"DELETE", "/jars/:jarid", &RestApi::remove_module},
      {"DELETE", "/cluster", &RestApi::shut_down},
  };
  return routes;
}

Response RestApi::handle(const Request& request) const {
  std::vector<std::string_view> path = segments_of(request.path);
  if (!path.empty() && path.front() == "v1") path.erase(path.begin());
  bool known = false;
  for (const Route& route : routes()) {
    const auto parameters = match(route.path, path);
    if (!parameters) continue;
    known = true;
    if (request.method != route.method) continue;
    const Result<Response> response = (this->*route.handler)(*parameters, request);
    if (response.ok()) return *response;
    return error_response(http_status_of(response.status().code()), response.status().message());
  }
  const std::string shown = request.path.substr(0, 256);
  if (known) return error_response(405, fmt::format("{} is not for {}", shown, request.method));
  return error_response(404, fmt::format("there is nothing at {}", shown));
}

Result<JobView> RestApi::job(const Parameters& parameters) const {
  ASSIGN_OR_RETURN(const JobId id, JobId::parse(parameters.at(0)));
  return queries_.job(id);
}

// ---- The cluster ----

Result<Response> RestApi::show_config(const Parameters&, const Request&) const {
  return respond(Json{{"refresh-interval", 3000},
                      {"timezone-name", "UTC"},
                      {"timezone-offset", 0},
                      {"flink-version", FRESHET_VERSION},
                      {"flink-revision", "freshet"},
                      {"features",
                       {{"web-submit", modules_ != nullptr && modules_->check_allowed().ok()},
                        {"web-cancel", true},
                        {"web-rescale", false},
                        {"web-history", false}}}});
}

Result<Response> RestApi::show_overview(const Parameters&, const Request&) const {
  ASSIGN_OR_RETURN(const auto jobs, queries_.jobs());
  ASSIGN_OR_RETURN(const auto task_managers, queries_.task_managers());
  const ClusterNumbers numbers = numbers_of(jobs, task_managers);
  const auto in_state = [&jobs](JobState state) {
    return std::ranges::count(jobs, state, &JobSummaryView::state);
  };
  return respond(Json{{"taskmanagers", numbers.task_managers},
                      {"slots-total", numbers.slots},
                      {"slots-available", numbers.slots_free},
                      {"jobs-running", numbers.jobs_running},
                      {"jobs-finished", in_state(JobState::kFinished)},
                      {"jobs-cancelled", in_state(JobState::kCanceled)},
                      {"jobs-failed", in_state(JobState::kFailed)},
                      {"flink-version", FRESHET_VERSION},
                      {"flink-commit", "freshet"}});
}

Result<Response> RestApi::list_task_managers(const Parameters&, const Request&) const {
  ASSIGN_OR_RETURN(const auto task_managers, queries_.task_managers());
  Json list = Json::array();
  for (const TaskManagerView& one : task_managers) list.push_back(task_manager_json(one));
  return respond(Json{{"taskmanagers", std::move(list)}});
}

Result<TaskManagerView> RestApi::task_manager(const Parameters& parameters) const {
  ASSIGN_OR_RETURN(auto task_managers, queries_.task_managers());
  for (TaskManagerView& one : task_managers) {
    if (to_string(one.id) == parameters.at(0)) return std::move(one);
  }
  return not_found(fmt::format("there is no TaskManager '{}'; /taskmanagers lists them",
                               parameters.at(0).substr(0, kParameterShown)));
}

Result<Response> RestApi::show_task_manager(const Parameters& parameters, const Request&) const {
  ASSIGN_OR_RETURN(const TaskManagerView one, task_manager(parameters));
  return respond(task_manager_details_json(one));
}

Result<Response> RestApi::show_task_manager_metrics(const Parameters& parameters,
                                                    const Request& request) const {
  ASSIGN_OR_RETURN(const TaskManagerView one, task_manager(parameters));
  return respond(metrics_text(metrics_of(one), query_list(request, "get")));
}

/// Over those that are named, or all.
Result<Response> RestApi::show_task_managers_metrics(const Parameters&,
                                                     const Request& request) const {
  ASSIGN_OR_RETURN(const auto task_managers, queries_.task_managers());
  const std::vector<std::string> chosen = query_list(request, "taskmanagers");
  std::vector<std::vector<Metric>> all;
  for (const TaskManagerView& one : task_managers) {
    if (chosen.empty() || std::ranges::count(chosen, to_string(one.id)) != 0)
      all.push_back(metrics_of(one));
  }
  ASSIGN_OR_RETURN(const Json json, aggregated_metrics_json(all, query_list(request, "get"),
                                                            query_list(request, "agg")));
  return respond(json);
}

Result<Response> RestApi::show_job_manager_metrics(const Parameters&,
                                                   const Request& request) const {
  ASSIGN_OR_RETURN(const auto jobs, queries_.jobs());
  ASSIGN_OR_RETURN(const auto task_managers, queries_.task_managers());
  return respond(metrics_text(metrics_of(numbers_of(jobs, task_managers), queries_.process()),
                              query_list(request, "get")));
}

Result<Response> RestApi::show_job_manager_config(const Parameters&, const Request&) const {
  return respond(settings_json(queries_.job_manager_settings()));
}

Result<Response> RestApi::show_job_manager_environment(const Parameters&, const Request&) const {
  return respond(environment_json(queries_.architecture(), queries_.job_manager_settings()));
}

// ---- Jobs ----

Result<Response> RestApi::list_jobs(const Parameters&, const Request&) const {
  ASSIGN_OR_RETURN(const auto jobs, queries_.jobs());
  Json list = Json::array();
  for (const JobSummaryView& one : jobs)
    list.push_back(Json{{"id", one.id.to_string()}, {"status", job_state_name(one.state)}});
  return respond(Json{{"jobs", std::move(list)}});
}

Result<Response> RestApi::list_job_overviews(const Parameters&, const Request&) const {
  ASSIGN_OR_RETURN(const auto jobs, queries_.jobs());
  Json list = Json::array();
  for (const JobSummaryView& one : jobs) list.push_back(job_overview_json(one, queries_.now()));
  return respond(Json{{"jobs", std::move(list)}});
}

Result<Response> RestApi::show_job(const Parameters& parameters, const Request&) const {
  ASSIGN_OR_RETURN(const JobView view, job(parameters));
  return respond(job_json(view));
}

/// One, or all.
Result<Response> RestApi::follow_jobs(const Parameters& parameters, const Request&) const {
  if (events_ == nullptr) return failed_precondition("events cannot be followed here");
  std::optional<JobId> id;
  if (!parameters.empty()) {
    ASSIGN_OR_RETURN(id, JobId::parse(parameters.at(0)));
  }
  Response response;
  ASSIGN_OR_RETURN(response.events, events_->follow(id));
  response.content_type = "text/event-stream";
  response.headers["Cache-Control"] = "no-store";
  return response;
}

Result<Response> RestApi::cancel_job(const Parameters& parameters, const Request& request) const {
  const std::string mode = query_text(request, "mode");
  if (!mode.empty() && mode != "cancel")
    return invalid_argument(
        fmt::format("mode='{}' is not possible; a job can be cancelled with "
                    "mode=cancel",
                    mode.substr(0, kParameterShown)));
  ASSIGN_OR_RETURN(const JobId id, JobId::parse(parameters.at(0)));
  RETURN_IF_ERROR(queries_.cancel(id));
  return respond(Json::object(), 202);
}

Result<Response> RestApi::show_job_plan(const Parameters& parameters, const Request&) const {
  ASSIGN_OR_RETURN(const JobView view, job(parameters));
  const JobSummaryView& summary = view.summary;
  return respond(
      Json{{"plan", Json::parse(json_plan(*view.graph, summary.id.to_string(), summary.name))}});
}

Result<Response> RestApi::show_job_status(const Parameters& parameters, const Request&) const {
  ASSIGN_OR_RETURN(const JobView view, job(parameters));
  return respond(Json{{"status", job_state_name(view.summary.state)}});
}

Result<Response> RestApi::show_job_config(const Parameters& parameters, const Request&) const {
  ASSIGN_OR_RETURN(const JobView view, job(parameters));
  return respond(job_config_json(view));
}

Result<Response> RestApi::show_job_exceptions(const Parameters& parameters,
                                              const Request& request) const {
  ASSIGN_OR_RETURN(const size_t most, query_number(request, "maxExceptions", SIZE_MAX));
  ASSIGN_OR_RETURN(const JobView view, job(parameters));
  return respond(job_exceptions_json(view, most));
}

Result<Response> RestApi::show_job_metrics(const Parameters& parameters,
                                           const Request& request) const {
  ASSIGN_OR_RETURN(const JobView view, job(parameters));
  return respond(metrics_text(metrics_of(view.summary), query_list(request, "get")));
}

/// Over those that are named, or all.
Result<Response> RestApi::show_jobs_metrics(const Parameters&, const Request& request) const {
  ASSIGN_OR_RETURN(const auto jobs, queries_.jobs());
  const std::vector<std::string> chosen = query_list(request, "jobs");
  std::vector<std::vector<Metric>> all;
  for (const JobSummaryView& one : jobs) {
    if (chosen.empty() || std::ranges::count(chosen, one.id.to_string()) != 0)
      all.push_back(metrics_of(one));
  }
  ASSIGN_OR_RETURN(const Json json, aggregated_metrics_json(all, query_list(request, "get"),
                                                            query_list(request, "agg")));
  return respond(json);
}

// ---- Vertices ----

Result<Response> RestApi::show_vertex(const Parameters& parameters, const Request&) const {
  ASSIGN_OR_RETURN(const JobView view, job(parameters));
  ASSIGN_OR_RETURN(const VertexView* vertex, find_vertex(view, parameters.at(1)));
  ASSIGN_OR_RETURN(const auto task_managers, queries_.task_managers());
  return respond(vertex_text(view, *vertex, task_managers));
}

Result<Response> RestApi::show_back_pressure(const Parameters& parameters, const Request&) const {
  ASSIGN_OR_RETURN(const JobView view, job(parameters));
  ASSIGN_OR_RETURN(const VertexView* vertex, find_vertex(view, parameters.at(1)));
  return respond(back_pressure_json(*vertex, view.now));
}

Result<Response> RestApi::show_subtask_times(const Parameters& parameters, const Request&) const {
  ASSIGN_OR_RETURN(const JobView view, job(parameters));
  ASSIGN_OR_RETURN(const VertexView* vertex, find_vertex(view, parameters.at(1)));
  ASSIGN_OR_RETURN(const auto task_managers, queries_.task_managers());
  return respond(subtask_times_text(view, *vertex, task_managers));
}

Result<Response> RestApi::show_vertex_task_managers(const Parameters& parameters,
                                                    const Request&) const {
  ASSIGN_OR_RETURN(const JobView view, job(parameters));
  ASSIGN_OR_RETURN(const VertexView* vertex, find_vertex(view, parameters.at(1)));
  ASSIGN_OR_RETURN(const auto task_managers, queries_.task_managers());
  return respond(vertex_task_managers_json(view, *vertex, task_managers));
}

/// None: there is no event time.
Result<Response> RestApi::show_watermarks(const Parameters& parameters, const Request&) const {
  ASSIGN_OR_RETURN(const JobView view, job(parameters));
  RETURN_IF_ERROR(find_vertex(view, parameters.at(1)).status());
  return respond(Json::array());
}

/// Its present attempt, which may be named; others are not kept.
Result<Response> RestApi::show_subtask(const Parameters& parameters, const Request&) const {
  ASSIGN_OR_RETURN(const JobView view, job(parameters));
  ASSIGN_OR_RETURN(const VertexView* vertex, find_vertex(view, parameters.at(1)));
  ASSIGN_OR_RETURN(const SubtaskView* subtask, find_subtask(*vertex, parameters.at(2)));
  if (parameters.size() > 3 && parameters.at(3) != std::to_string(subtask->attempt))
    return not_found(fmt::format("attempt '{}' of subtask {} is not kept; the present one is {}",
                                 parameters.at(3).substr(0, kParameterShown), subtask->index,
                                 subtask->attempt));
  ASSIGN_OR_RETURN(const auto task_managers, queries_.task_managers());
  return respond(subtask_text(*subtask, view.now, task_managers));
}

/// Each subtask's, with its index before the name.
Result<Response> RestApi::show_vertex_metrics(const Parameters& parameters,
                                              const Request& request) const {
  ASSIGN_OR_RETURN(const JobView view, job(parameters));
  ASSIGN_OR_RETURN(const VertexView* vertex, find_vertex(view, parameters.at(1)));
  std::vector<Metric> metrics;
  for (const SubtaskView& subtask : vertex->subtasks) {
    for (auto& [name, value] : metrics_of(*vertex, subtask))
      metrics.push_back({fmt::format("{}.{}", subtask.index, name), value});
  }
  return respond(metrics_text(metrics, query_list(request, "get")));
}

Result<Response> RestApi::show_subtasks_metrics(const Parameters& parameters,
                                                const Request& request) const {
  ASSIGN_OR_RETURN(const JobView view, job(parameters));
  ASSIGN_OR_RETURN(const VertexView* vertex, find_vertex(view, parameters.at(1)));
  ASSIGN_OR_RETURN(const auto chosen,
                   parse_indices(query_text(request, "subtasks"), vertex->parallelism));
  std::vector<std::vector<Metric>> all;
  for (const SubtaskView& subtask : vertex->subtasks) {
    if (chosen.empty() || std::ranges::binary_search(chosen, subtask.index))
      all.push_back(metrics_of(*vertex, subtask));
  }
  ASSIGN_OR_RETURN(const Json json, aggregated_metrics_json(all, query_list(request, "get"),
                                                            query_list(request, "agg")));
  return respond(json);
}

Result<Response> RestApi::show_subtask_metrics(const Parameters& parameters,
                                               const Request& request) const {
  ASSIGN_OR_RETURN(const JobView view, job(parameters));
  ASSIGN_OR_RETURN(const VertexView* vertex, find_vertex(view, parameters.at(1)));
  ASSIGN_OR_RETURN(const SubtaskView* subtask, find_subtask(*vertex, parameters.at(2)));
  return respond(metrics_text(metrics_of(*vertex, *subtask), query_list(request, "get")));
}

// ---- Processes ----

Result<std::optional<TaskManagerId>> RestApi::process(const Parameters& parameters,
                                                      const Request& request) const {
  const bool of_job_manager = request.path.find("/jobmanager/") != request.path.npos;
  if (of_job_manager) return std::optional<TaskManagerId>();
  ASSIGN_OR_RETURN(const TaskManagerView view, task_manager(parameters));
  return std::optional(view.id);
}

Result<Response> RestApi::list_logs(const Parameters& parameters, const Request& request) const {
  ASSIGN_OR_RETURN(const auto whose, process(parameters, request));
  ASSIGN_OR_RETURN(const auto files, queries_.logs(whose));
  return respond(logs_json(files));
}

Result<Response> RestApi::show_threads(const Parameters& parameters, const Request& request) const {
  ASSIGN_OR_RETURN(const auto whose, process(parameters, request));
  ASSIGN_OR_RETURN(const auto threads, queries_.threads(whose));
  return respond(threads_json(threads));
}

Result<Response> RestApi::show_log(const Parameters& parameters, const Request& request) const {
  ASSIGN_OR_RETURN(const auto whose, process(parameters, request));
  const std::string name = request.path.substr(request.path.rfind('/') + 1);
  ASSIGN_OR_RETURN(std::string text, queries_.log_text(whose, name));
  return Response{200, "text/plain; charset=UTF-8", std::move(text)};
}

// ---- Uploaded modules ----

Result<ModuleRequests> RestApi::modules() const {
  if (modules_ == nullptr) return failed_precondition("no modules can be uploaded here");
  return ModuleRequests(*modules_);
}

std::optional<Response> RestApi::admit(const Request& request) const {
  if (modules_ == nullptr) return std::nullopt;
  return ModuleRequests(*modules_).admit(request);
}

Result<std::shared_ptr<BodyReceiver>> RestApi::open_body(const Request& request) const {
  if (modules_ == nullptr) return std::shared_ptr<BodyReceiver>();
  return ModuleRequests(*modules_).open_body(request);
}

Result<Response> RestApi::list_modules(const Parameters&, const Request& request) const {
  ASSIGN_OR_RETURN(const ModuleRequests requests, modules());
  return requests.list(request);
}

Result<Response> RestApi::upload_module(const Parameters&, const Request& request) const {
  ASSIGN_OR_RETURN(const ModuleRequests requests, modules());
  return requests.upload(request);
}

Result<Response> RestApi::run_module(const Parameters& parameters, const Request& request) const {
  ASSIGN_OR_RETURN(const ModuleRequests requests, modules());
  return requests.run(parameters.at(0), request);
}

Result<Response> RestApi::show_module_plan(const Parameters& parameters,
                                           const Request& request) const {
  ASSIGN_OR_RETURN(const ModuleRequests requests, modules());
  return requests.plan(parameters.at(0), request);
}

Result<Response> RestApi::remove_module(const Parameters& parameters, const Request&) const {
  ASSIGN_OR_RETURN(const ModuleRequests requests, modules());
  return requests.remove(parameters.at(0));
}

Result<Response> RestApi::shut_down(const Parameters&, const Request&) const {
  RETURN_IF_ERROR(queries_.shut_down());
  return respond(Json::object());
}

}  // namespace freshet::rest
