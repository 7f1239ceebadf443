#include "tests/sim/sim_file_system.h"

#include "tests/sim/sim_world.h"

namespace freshet::sim {

class SimFileSystem::Writer final : public WritableFile {
 public:
  Writer(SimVolume& volume, std::shared_ptr<SimVolume::Extent> extent,
         std::unique_ptr<WritableFile> file, std::string path,
         std::shared_ptr<const Liveness> process)
      : volume_(volume),
        extent_(std::move(extent)),
        file_(std::move(file)),
        path_(std::move(path)),
        process_(std::move(process)) {}

  Status append(std::string_view bytes) override {
    RETURN_IF_ERROR(refuse_dead());
    const Status admitted = volume_.admit(FileOperation::kAppend, path_);
    if (!admitted.ok()) bytes = bytes.substr(0, volume_.queue_.random().below(bytes.size() + 1));
    extent_->written_bytes += bytes.size();
    RETURN_IF_ERROR(file_->append(bytes));
    return admitted;
  }
  Status sync() override {
    RETURN_IF_ERROR(refuse_dead());
    RETURN_IF_ERROR(volume_.admit(FileOperation::kSync, path_));
    if (!volume_.forgets_syncs_) extent_->synced_bytes = extent_->written_bytes;
    return file_->sync();
  }
  Status close() override {
    RETURN_IF_ERROR(refuse_dead());
    return file_->close();
  }

 private:
  Status refuse_dead() const {
    return process_->alive ? Status() : aborted(path_ + ": the process is dead");
  }

  SimVolume& volume_;
  const std::shared_ptr<SimVolume::Extent> extent_;
  const std::unique_ptr<WritableFile> file_;
  const std::string path_;
  const std::shared_ptr<const Liveness> process_;
};

SimVolume& SimFileSystem::volume(const std::string& path) const {
  const bool shared =
      path.starts_with(kSharedDirectory) &&
      (path.size() == kSharedDirectory.size() || path[kSharedDirectory.size()] == '/');
  return shared ? shared_ : host_.disk;
}

Status SimFileSystem::refuse_dead(const std::string& path) const {
  return process_->alive ? Status() : aborted(path + ": the process is dead");
}

Result<std::unique_ptr<ReadableFile>> SimFileSystem::open(const std::string& path) {
  RETURN_IF_ERROR(refuse_dead(path));
  return volume(path).files().open(path);
}

Result<std::unique_ptr<WritableFile>> SimFileSystem::create(const std::string& path) {
  RETURN_IF_ERROR(refuse_dead(path));
  SimVolume& on = volume(path);
  RETURN_IF_ERROR(on.admit(FileOperation::kCreate, path));
  ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, on.files().create(path));
  return std::unique_ptr<WritableFile>(
      std::make_unique<Writer>(on, on.created(host_, path), std::move(file), path, process_));
}

Result<FileInfo> SimFileSystem::info(const std::string& path) {
  RETURN_IF_ERROR(refuse_dead(path));
  return volume(path).files().info(path);
}

Result<std::vector<FileInfo>> SimFileSystem::list(const std::string& directory) {
  RETURN_IF_ERROR(refuse_dead(directory));
  return volume(directory).files().list(directory);
}

Status SimFileSystem::create_directories(const std::string& path) {
  RETURN_IF_ERROR(refuse_dead(path));
  SimVolume& on = volume(path);
  if (!on.files().info(path).ok()) RETURN_IF_ERROR(on.admit(FileOperation::kCreate, path));
  return on.changed(on.files().create_directories(path));
}

Status SimFileSystem::create_new_directory(const std::string& path) {
  RETURN_IF_ERROR(refuse_dead(path));
  RETURN_IF_ERROR(volume(path).admit(FileOperation::kCreate, path));
  return volume(path).changed(volume(path).files().create_new_directory(path));
}

Status SimFileSystem::rename(const std::string& from, const std::string& to) {
  RETURN_IF_ERROR(refuse_dead(from));
  SimVolume& on = volume(from);
  if (&on != &volume(to)) return unavailable(from + ": Invalid cross-device link");
  RETURN_IF_ERROR(on.admit(FileOperation::kRename, from));
  return on.rename(from, to);
}

Status SimFileSystem::remove(const std::string& path) {
  RETURN_IF_ERROR(refuse_dead(path));
  return volume(path).changed(volume(path).files().remove(path));
}

Status SimFileSystem::remove_empty_directory(const std::string& path) {
  RETURN_IF_ERROR(refuse_dead(path));
  return volume(path).changed(volume(path).files().remove_empty_directory(path));
}

Status SimFileSystem::remove_all(const std::string& path) {
  RETURN_IF_ERROR(refuse_dead(path));
  return volume(path).changed(volume(path).files().remove_all(path));
}

}  // namespace freshet::sim
