#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/rest/uploaded_modules.h"

namespace freshet::rest {

/// Keeps what is uploaded in memory, and what it was asked for.
class FakeModules final : public UploadedModules {
 public:
  static constexpr uint64_t kBytesMax = 1000;

  class Kept final : public Upload {
   public:
    Kept(FakeModules& modules, std::string name) : modules_(modules), name_(std::move(name)) {}
    Status append(std::string_view bytes) override {
      bytes_ += bytes;
      return modules_.refuse_bytes;
    }
    Result<std::string> finish() override {
      modules_.modules[name_] = bytes_;
      return "/uploads/" + name_;
    }

   private:
    FakeModules& modules_;
    const std::string name_;
    std::string bytes_;
  };

  Status check_allowed() const override { return allowed; }
  uint64_t bytes_max() const override { return kBytesMax; }
  Result<std::unique_ptr<Upload>> begin(const std::string& file_name) override {
    if (file_name.empty()) return invalid_argument("it has no name");
    return std::unique_ptr<Upload>(std::make_unique<Kept>(*this, file_name));
  }
  std::vector<UploadedModule> list() override {
    std::vector<UploadedModule> all;
    for (const auto& [name, bytes] : modules) all.push_back({"id_" + name, name, 1234});
    return all;
  }
  Status remove(const std::string& id) override {
    RETURN_IF_ERROR(find(id));
    modules.erase(id.substr(3));
    return Status();
  }
  Result<JobId> run(const std::string& id, const ModuleJob& job) override {
    RETURN_IF_ERROR(find(id));
    jobs.push_back(job);
    return JobId{1, 2};
  }
  Result<std::string> plan(const std::string& id, const ModuleJob& job) override {
    RETURN_IF_ERROR(find(id));
    jobs.push_back(job);
    return plan_text;
  }

  Status allowed;
  Status refuse_bytes;
  std::map<std::string, std::string> modules;
  std::vector<ModuleJob> jobs;
  std::string plan_text = R"({"jid":"0","name":"words"})";

 private:
  Status find(const std::string& id) const {
    if (id.starts_with("id_") && modules.contains(id.substr(3))) return Status();
    return not_found("there is no module");
  }
};

}  // namespace freshet::rest
