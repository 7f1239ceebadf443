#pragma once

#include <memory>

#include "runtime/base/file_system.h"
#include "tests/sim/sim_executor.h"
#include "tests/sim/sim_volume.h"

namespace freshet::sim {

/// Where the file server is found on every host.
inline constexpr std::string_view kSharedDirectory = "/shared";

/// All files as one process sees them: its host's disk, and below kSharedDirectory the file server.
/// What it does after its death is refused and leaves no trace.
class SimFileSystem final : public FileSystem {
 public:
  SimFileSystem(SimHost& host, SimVolume& shared, std::shared_ptr<const Liveness> process)
      : host_(host), shared_(shared), process_(std::move(process)) {}

  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override;
  Result<FileInfo> info(const std::string& path) override;
  Result<std::vector<FileInfo>> list(const std::string& directory) override;
  Status create_directories(const std::string& path) override;
  Status create_new_directory(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Status remove_empty_directory(const std::string& path) override;
  Status remove_all(const std::string& path) override;

 private:
  class Writer;

  SimVolume& volume(const std::string& path) const;
  Status refuse_dead(const std::string& path) const;

  SimHost& host_;
  SimVolume& shared_;
  const std::shared_ptr<const Liveness> process_;
};

}  // namespace freshet::sim
