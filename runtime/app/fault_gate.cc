#include "runtime/app/fault_gate.h"

#include <fmt/format.h>

#include "runtime/base/scripted_faults.h"

namespace freshet {

namespace {

/// Processes have other working directories than who gave it to them.
Status check_path(const Configuration& configuration, const ConfigKey& key) {
  const std::string& path = configuration.text(key);
  if (path.empty() || path.starts_with('/')) return Status();
  return invalid_argument(fmt::format("{}: '{}' is no absolute path", key.name, path));
}

}  // namespace

Status check_faults(const Configuration& configuration, bool allowed) {
  const std::string& script = configuration.text(config::kTestFaults);
  if (script.empty()) return Status();
  if (!allowed) {
    return invalid_argument(
        "test.faults breaks processes on purpose and is refused without --allow-faults");
  }
  RETURN_IF_ERROR(parse_faults(script).status().with_context(config::kTestFaults.name));
  return check_path(configuration, config::kTestFaultsRecord);
}

Result<std::unique_ptr<Faults>> faults_of(const Configuration& configuration, bool allowed,
                                          const std::string& process,
                                          std::optional<FaultSide> side) {
  RETURN_IF_ERROR(check_faults(configuration, allowed));
  const std::string& script = configuration.text(config::kTestFaults);
  if (script.empty()) return std::unique_ptr<Faults>();
  auto faults =
      make_scripted_faults(script, {process, side, configuration.text(config::kTestFaultsRecord)});
  if (!faults.ok()) return faults.status().with_context(config::kTestFaultsRecord.name);
  return faults;
}

}  // namespace freshet
