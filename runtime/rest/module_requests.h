#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/rest/http_message.h"
#include "runtime/rest/uploaded_modules.h"

namespace freshet::rest {

/// Answers requests below `/jars`, which Flink calls so because there they are: uploads of job
/// modules, and the jobs that are made of them.
class ModuleRequests {
 public:
  explicit ModuleRequests(UploadedModules& modules) : modules_(modules) {}

  /// Before the body: an answer when it need not come.
  std::optional<Response> admit(const Request&) const;
  /// Who takes the body of an upload; null for all else.
  Result<std::shared_ptr<BodyReceiver>> open_body(const Request&) const;

  Result<Response> list(const Request&) const;
  Result<Response> upload(const Request&) const;
  Result<Response> run(const std::string& id, const Request&) const;
  Result<Response> plan(const std::string& id, const Request&) const;
  Result<Response> remove(const std::string& id) const;

 private:
  UploadedModules& modules_;
};

/// What a request says of the job: in its query, or in its body as JSON. kInvalidArgument, naming
/// the field, for what cannot be done.
Result<ModuleJob> parse_module_job(const Request&);

}  // namespace freshet::rest
