#include "runtime/rest/module_requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/rest/multipart_reader.h"
#include "runtime/rest/rest_json.h"
#include "runtime/rest/rest_metrics.h"

namespace freshet::rest {

namespace {

constexpr const char* kField = "jarfile";
constexpr uint64_t kAroundBytesMax = 64 << 10;  // Of an upload, besides the module.
constexpr size_t kArgumentBytesMax = 64 << 10;
constexpr size_t kWordsBytesMax = 256 << 10;
constexpr size_t kShown = 64;

bool is_below(const Request& request, std::string_view path) {
  std::string_view at = request.path;
  if (at.starts_with("/v1/")) at.remove_prefix(3);
  return at.starts_with(path) && (at.size() == path.size() || at[path.size()] == '/');
}

bool is_upload(const Request& request) {
  return request.method == "POST" && is_below(request, "/jars/upload");
}

/// The file of the field `jarfile` goes to an upload, other fields nowhere.
class ModuleReceiver final : public BodyReceiver, private MultipartReader::Listener {
 public:
  ModuleReceiver(UploadedModules& modules, const std::string& boundary)
      : modules_(modules), reader_(boundary, *this) {}

  Status take(std::string_view part) override { return reader_.take(part); }

  Result<std::string> finish() {
    RETURN_IF_ERROR(reader_.end());
    if (upload_ == nullptr)
      return invalid_argument(fmt::format("the body has no file in a field '{}'", kField));
    return upload_->finish();
  }

 private:
  Status on_part(const MultipartReader::Part& part) override {
    in_module_ = part.name == kField;
    if (!in_module_) return Status();
    if (upload_ != nullptr)
      return invalid_argument(fmt::format("the body has more than one field '{}'", kField));
    ASSIGN_OR_RETURN(upload_, modules_.begin(part.file_name.value_or("")));
    return Status();
  }
  Status on_bytes(std::string_view bytes) override {
    return in_module_ ? upload_->append(bytes) : Status();
  }

  UploadedModules& modules_;
  bool in_module_ = false;
  std::unique_ptr<UploadedModules::Upload> upload_;
  MultipartReader reader_;
};

Response respond(const Json& json) {
  Response response;
  response.body = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  return response;
}

Status wrong(std::string_view field, std::string_view why) {
  return invalid_argument(fmt::format("{}: {}", field, why));
}

Result<std::vector<std::string>> texts_of(const std::string& field, const Json& value) {
  if (!value.is_array()) return wrong(field, "must be a list of texts");
  std::vector<std::string> texts;
  for (const Json& one : value) {
    if (!one.is_string()) return wrong(field, "must be a list of texts");
    texts.push_back(one.get<std::string>());
  }
  return texts;
}

Result<std::map<std::string, std::string>> settings_of(const std::string& field,
                                                       const Json& value) {
  if (!value.is_object()) return wrong(field, "must be an object of settings");
  std::map<std::string, std::string> settings;
  for (const auto& [name, one] : value.items()) {
    if (one.is_structured() || one.is_null())
      return wrong(field, fmt::format("'{}' must be a text", name.substr(0, kShown)));
    settings[name] = one.is_string() ? one.get<std::string>() : one.dump();
  }
  return settings;
}

Status set_parallelism(const Json& value, ModuleJob* job) {
  if (!value.is_number_unsigned()) return wrong("parallelism", "must be a whole number");
  job->parallelism = value.dump();
  return Status();
}

Status refuse(const std::string& field) {
  static constexpr const char* kOfState[] = {"savepointPath", "allowNonRestoredState", "claimMode",
                                             "restoreMode"};
  for (const char* name : kOfState) {
    if (field == name) return wrong(field, "a job cannot begin with a state that was saved");
  }
  if (field == "jobId") return wrong(field, "a job is given its id when it is submitted");
  return invalid_argument(fmt::format(
      "there is no field '{}'; there are parallelism, programArgsList and flinkConfiguration",
      field.substr(0, kShown)));
}

Status read_field(const std::string& field, const Json& value, ModuleJob* job) {
  if (value.is_null()) return Status();
  if (field == "entryClass") return Status();  // A module has one job.
  if (field == "parallelism") return set_parallelism(value, job);
  if (field == "programArgsList") {
    ASSIGN_OR_RETURN(job->arguments, texts_of(field, value));
    return Status();
  }
  if (field == "flinkConfiguration") {
    ASSIGN_OR_RETURN(job->settings, settings_of(field, value));
    return Status();
  }
  if (field == "allowNonRestoredState" && value == false) return Status();
  return refuse(field);
}

/// Those that Flink has and that mean nothing here are refused by refuse(), or say nothing.
Status check_parameters(const std::map<std::string, std::string>& query) {
  static constexpr const char* kKnown[] = {"parallelism", "programArg", "entry-class",
                                           "savepointPath", "jobId"};
  for (const auto& [name, value] : query) {
    const bool known = std::find(std::begin(kKnown), std::end(kKnown), name) != std::end(kKnown);
    if (known || (name == "allowNonRestoredState" && value == "false")) continue;
    return invalid_argument(
        fmt::format("there is no parameter '{}'; there are parallelism and programArg",
                    name.substr(0, kShown)));
  }
  return Status();
}

/// They become words of a command.
Status check_words(const ModuleJob& job) {
  size_t total = 0;
  const auto check = [&total](const std::string& word) {
    total += word.size() + 64;
    if (word.find('\0') != word.npos) return invalid_argument("a text has a zero byte in it");
    if (word.size() <= kArgumentBytesMax && total <= kWordsBytesMax) return Status();
    return invalid_argument(
        fmt::format("arguments and settings are larger than {} KiB, or one of "
                    "them than {}",
                    kWordsBytesMax >> 10, kArgumentBytesMax >> 10));
  };
  for (const std::string& argument : job.arguments) RETURN_IF_ERROR(check(argument));
  for (const auto& [name, value] : job.settings) {
    RETURN_IF_ERROR(check(name));
    RETURN_IF_ERROR(check(value));
  }
  return check(job.parallelism);
}

}  // namespace

Result<ModuleJob> parse_module_job(const Request& request) {
  RETURN_IF_ERROR(check_parameters(request.query));
  ModuleJob job;
  const auto query = [&request](const char* name) {
    const auto found = request.query.find(name);
    return found == request.query.end() ? std::string() : found->second;
  };
  if (const std::string text = query("parallelism"); !text.empty()) job.parallelism = text;
  job.arguments = split_list(query("programArg"));
  for (const char* name : {"savepointPath", "jobId"}) {
    if (!query(name).empty()) return refuse(name);
  }
  if (!request.body.empty()) {
    const Json json = Json::parse(request.body, nullptr, false);
    if (!json.is_object()) return invalid_argument("the body must be an object of JSON");
    for (const auto& [field, value] : json.items()) RETURN_IF_ERROR(read_field(field, value, &job));
  }
  RETURN_IF_ERROR(check_words(job));
  return job;
}

std::optional<Response> ModuleRequests::admit(const Request& request) const {
  if (!is_below(request, "/jars")) return std::nullopt;
  if (const Status allowed = modules_.check_allowed(); !allowed.ok())
    return error_response(403, allowed.message());
  if (is_upload(request) && request.content_length > modules_.bytes_max() + kAroundBytesMax)
    return error_response(413, fmt::format("the module is larger than {} bytes, see "
                                           "rest.server.max-content-length",
                                           modules_.bytes_max()));
  return std::nullopt;
}

Result<std::shared_ptr<BodyReceiver>> ModuleRequests::open_body(const Request& request) const {
  if (!is_upload(request)) return std::shared_ptr<BodyReceiver>();
  ASSIGN_OR_RETURN(const std::string boundary, MultipartReader::boundary_of(request.content_type));
  return std::shared_ptr<BodyReceiver>(std::make_shared<ModuleReceiver>(modules_, boundary));
}

Result<Response> ModuleRequests::upload(const Request& request) const {
  auto* const receiver = dynamic_cast<ModuleReceiver*>(request.receiver.get());
  if (receiver == nullptr) return invalid_argument("the body must be multipart/form-data");
  ASSIGN_OR_RETURN(const std::string path, receiver->finish());
  return respond(Json{{"filename", path}, {"status", "success"}});
}

Result<Response> ModuleRequests::list(const Request& request) const {
  Json files = Json::array();
  for (const UploadedModule& one : modules_.list()) {
    const std::string job = one.name.substr(0, one.name.rfind('.'));
    files.push_back(Json{{"id", one.id},
                         {"name", one.name},
                         {"uploaded", one.uploaded},
                         {"entry", {{{"name", job}, {"description", nullptr}}}}});
  }
  return respond(Json{{"address", "http://" + request.host}, {"files", std::move(files)}});
}

Result<Response> ModuleRequests::run(const std::string& id, const Request& request) const {
  ASSIGN_OR_RETURN(const ModuleJob job, parse_module_job(request));
  ASSIGN_OR_RETURN(const JobId started, modules_.run(id, job));
  return respond(Json{{"jobid", started.to_string()}});
}

Result<Response> ModuleRequests::plan(const std::string& id, const Request& request) const {
  ASSIGN_OR_RETURN(const ModuleJob job, parse_module_job(request));
  ASSIGN_OR_RETURN(const std::string text, modules_.plan(id, job));
  Json plan = Json::parse(text, nullptr, false);
  if (plan.is_discarded()) return internal_error("the plan of the job is no JSON");
  return respond(Json{{"plan", std::move(plan)}});
}

Result<Response> ModuleRequests::remove(const std::string& id) const {
  RETURN_IF_ERROR(modules_.remove(id));
  return respond(Json::object());
}

}  // namespace freshet::rest
