#include "runtime/app/fault_gate.h"

#include <fmt/format.h>

#include "runtime/app/temp_roots.h"
#include "runtime/base/faulty_file_system.h"
#include "runtime/base/record_faults.h"
#include "runtime/base/scripted_faults.h"

namespace freshet {

namespace {

/// Processes have other working directories than who gave it to them.
Status check_path(const Configuration& configuration, const ConfigKey& key) {
  const std::string& path = configuration.text(key);
  if (path.empty() || path.starts_with('/')) return Status();
  return invalid_argument(fmt::format("{}: '{}' is no absolute path", key.name, path));
}

/// What `test.records` asks for; null when it is not set.
Result<std::unique_ptr<RecordFaults>> record_faults_of(const Configuration& configuration) {
  const std::string& script = configuration.text(config::kTestRecords);
  if (script.empty()) return std::unique_ptr<RecordFaults>();
  return RecordFaults::parse(script);
}

}  // namespace

Status check_faults(const Configuration& configuration, bool allowed) {
  for (const ConfigKey* key : {&config::kTestFaults, &config::kTestDisk, &config::kTestRecords}) {
    if (allowed || configuration.text(*key).empty()) continue;
    return invalid_argument(fmt::format(
        "{} breaks processes on purpose and is refused without --allow-faults", key->name));
  }
  RETURN_IF_ERROR(parse_faults(configuration.text(config::kTestFaults))
                      .status()
                      .with_context(config::kTestFaults.name));
  RETURN_IF_ERROR(record_faults_of(configuration).status().with_context(config::kTestRecords.name));
  RETURN_IF_ERROR(check_path(configuration, config::kTestFaultsRecord));
  return check_path(configuration, config::kTestDisk);
}

Result<std::unique_ptr<Faults>> faults_of(const Configuration& configuration, bool allowed,
                                          const std::string& process,
                                          std::optional<FaultSide> side) {
  RETURN_IF_ERROR(check_faults(configuration, allowed));
  const std::string& script = configuration.text(config::kTestFaults);
  ASSIGN_OR_RETURN(std::unique_ptr<RecordFaults> records, record_faults_of(configuration));
  if (script.empty() && records == nullptr) return std::unique_ptr<Faults>();
  if (script.empty()) return with_record_faults(nullptr, std::move(records));
  auto faults =
      make_scripted_faults(script, {process, side, configuration.text(config::kTestFaultsRecord)});
  if (!faults.ok()) return faults.status().with_context(config::kTestFaultsRecord.name);
  if (records == nullptr) return faults;
  return with_record_faults(*std::move(faults), std::move(records));
}

Result<std::unique_ptr<FileSystem>> files_of(const Configuration& configuration, bool allowed,
                                             const std::string& state_directory) {
  RETURN_IF_ERROR(check_faults(configuration, allowed));
  auto files = make_local_file_system();
  const std::string& path = configuration.text(config::kTestDisk);
  if (path.empty()) return files;
  auto switches = map_disk_switches(path);
  RETURN_IF_ERROR(switches.status().with_context(config::kTestDisk.name));
  std::vector<FaultyFileSystem::Place> places = {
      {"", DiskFiles::kOutput},
      {state_directory, DiskFiles::kTemporary},
      {state_directory + "/modules", DiskFiles::kModules},
  };
  for (std::string& directory :
       TempRoots::directories_of(configuration.text(config::kTempDirectories)))
    places.push_back({std::move(directory), DiskFiles::kTemporary});
  return std::unique_ptr<FileSystem>(std::make_unique<FaultyFileSystem>(
      std::move(files), *std::move(switches), std::move(places)));
}

}  // namespace freshet
