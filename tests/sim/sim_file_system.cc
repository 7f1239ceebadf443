#include "tests/sim/sim_file_system.h"

namespace freshet::sim {

class SimFileSystem::Writer final : public WritableFile {
 public:
  Writer(std::unique_ptr<WritableFile> file, std::shared_ptr<const Liveness> process)
      : file_(std::move(file)), process_(std::move(process)) {}
  Status append(std::string_view bytes) override {
    return process_->alive ? file_->append(bytes) : aborted("the process is dead");
  }
  Status sync() override {
    return process_->alive ? file_->sync() : aborted("the process is dead");
  }
  Status close() override {
    return process_->alive ? file_->close() : aborted("the process is dead");
  }

 private:
  const std::unique_ptr<WritableFile> file_;
  const std::shared_ptr<const Liveness> process_;
};

Status SimFileSystem::refuse_dead(const std::string& path) const {
  return process_->alive ? Status() : aborted(path + ": the process is dead");
}

Result<std::unique_ptr<ReadableFile>> SimFileSystem::open(const std::string& path) {
  RETURN_IF_ERROR(refuse_dead(path));
  return files_.open(path);
}

Result<std::unique_ptr<WritableFile>> SimFileSystem::create(const std::string& path) {
  RETURN_IF_ERROR(refuse_dead(path));
  ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, files_.create(path));
  return std::unique_ptr<WritableFile>(std::make_unique<Writer>(std::move(file), process_));
}

Result<FileInfo> SimFileSystem::info(const std::string& path) {
  RETURN_IF_ERROR(refuse_dead(path));
  return files_.info(path);
}

Result<std::vector<FileInfo>> SimFileSystem::list(const std::string& directory) {
  RETURN_IF_ERROR(refuse_dead(directory));
  return files_.list(directory);
}

Status SimFileSystem::create_directories(const std::string& path) {
  RETURN_IF_ERROR(refuse_dead(path));
  return files_.create_directories(path);
}

Status SimFileSystem::create_new_directory(const std::string& path) {
  RETURN_IF_ERROR(refuse_dead(path));
  return files_.create_new_directory(path);
}

Status SimFileSystem::rename(const std::string& from, const std::string& to) {
  RETURN_IF_ERROR(refuse_dead(from));
  return files_.rename(from, to);
}

Status SimFileSystem::remove(const std::string& path) {
  RETURN_IF_ERROR(refuse_dead(path));
  return files_.remove(path);
}

Status SimFileSystem::remove_empty_directory(const std::string& path) {
  RETURN_IF_ERROR(refuse_dead(path));
  return files_.remove_empty_directory(path);
}

Status SimFileSystem::remove_all(const std::string& path) {
  RETURN_IF_ERROR(refuse_dead(path));
  return files_.remove_all(path);
}

}  // namespace freshet::sim
