#include "runtime/task/recorded_files.h"

namespace freshet {

class RecordingFileSystem::Writer final : public WritableFile {
 public:
  Writer(std::unique_ptr<WritableFile> file, std::string path, RecordedFiles& to,
         const std::function<bool()>& alive)
      : file_(std::move(file)), path_(std::move(path)), to_(to), alive_(alive) {}

  Status append(std::string_view bytes) override {
    const Status status = file_->append(bytes);
    if (status.ok() && alive_()) to_[path_].content += bytes;
    return status;
  }
  Status sync() override { return file_->sync(); }
  Status close() override {
    const Status status = file_->close();
    const auto recorded = to_.find(path_);
    if (status.ok() && alive_() && recorded != to_.end()) recorded->second.closed = true;
    return status;
  }

 private:
  const std::unique_ptr<WritableFile> file_;
  const std::string path_;
  RecordedFiles& to_;
  const std::function<bool()>& alive_;
};

Result<std::unique_ptr<WritableFile>> RecordingFileSystem::create(const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, files_.create(path));
  if (alive_()) to_.erase(path);
  return std::unique_ptr<WritableFile>(
      std::make_unique<Writer>(std::move(file), path, to_, alive_));
}

}  // namespace freshet
