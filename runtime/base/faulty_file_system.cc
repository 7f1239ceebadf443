#include "runtime/base/faulty_file_system.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace freshet {

namespace {

constexpr auto kLookAgain = std::chrono::milliseconds(5);

Status full(const std::string& path) {
  return resource_exhausted(path + ": " + std::strerror(ENOSPC) + " (0 bytes are free there)");
}

Status broken(const std::string& path) { return unavailable(path + ": " + std::strerror(EIO)); }

bool is_below(const std::string& path, const std::string& directory) {
  return directory.empty() || (path.starts_with(directory) &&
                               (path.size() == directory.size() || path[directory.size()] == '/'));
}

std::vector<FaultyFileSystem::Place> longest_first(std::vector<FaultyFileSystem::Place> places) {
  std::stable_sort(places.begin(), places.end(), [](const auto& a, const auto& b) {
    return a.directory.size() > b.directory.size();
  });
  return places;
}

/// Until the time is over, or nobody is to wait so long any more.
void wait_for(const std::atomic<uint32_t>& delay_ms) {
  using Steady = std::chrono::steady_clock;
  const Steady::time_point begin = Steady::now();
  for (;;) {
    const auto due = begin + std::chrono::milliseconds(delay_ms.load(std::memory_order_relaxed));
    const Steady::time_point now = Steady::now();
    if (now >= due) return;
    std::this_thread::sleep_for(std::min<Steady::duration>(kLookAgain, due - now));
  }
}

}  // namespace

class FaultyFileSystem::Reader final : public ReadableFile {
 public:
  Reader(const FaultyFileSystem& disk, std::string path, std::unique_ptr<ReadableFile> file)
      : disk_(disk), which_(disk.files_at(path)), path_(std::move(path)), file_(std::move(file)) {}

  Result<size_t> read(uint64_t offset, char* to, size_t size) override {
    RETURN_IF_ERROR(disk_.meet(which_, path_, Operation::kReads));
    return file_->read(offset, to, size);
  }
  void expect(uint64_t offset, uint64_t size) override { file_->expect(offset, size); }

 private:
  const FaultyFileSystem& disk_;
  const std::optional<DiskFiles> which_;
  const std::string path_;
  const std::unique_ptr<ReadableFile> file_;
};

class FaultyFileSystem::Writer final : public WritableFile {
 public:
  Writer(const FaultyFileSystem& disk, std::string path, std::unique_ptr<WritableFile> file)
      : disk_(disk), which_(disk.files_at(path)), path_(std::move(path)), file_(std::move(file)) {}

  Status append(std::string_view bytes) override {
    const Status status = disk_.meet(which_, path_, Operation::kNeedsRoom);
    if (!status.ok()) {
      // There is never no room for all at the same byte.
      if (disk_.is_full(which_)) (void)file_->append(bytes.substr(0, bytes.size() / 2));
      return status;
    }
    return file_->append(bytes);
  }
  Status sync() override {
    RETURN_IF_ERROR(disk_.meet(which_, path_, Operation::kWrites));
    return file_->sync();
  }
  Status close() override { return file_->close(); }

 private:
  const FaultyFileSystem& disk_;
  const std::optional<DiskFiles> which_;
  const std::string path_;
  const std::unique_ptr<WritableFile> file_;
};

FaultyFileSystem::FaultyFileSystem(std::unique_ptr<FileSystem> files,
                                   std::shared_ptr<DiskSwitches> switches,
                                   std::vector<Place> places)
    : files_(std::move(files)),
      switches_(std::move(switches)),
      places_(longest_first(std::move(places))) {}

std::optional<DiskFiles> FaultyFileSystem::files_at(const std::string& path) const {
  for (const Place& place : places_) {
    if (is_below(path, place.directory)) return place.files;
  }
  return std::nullopt;
}

bool FaultyFileSystem::is_full(std::optional<DiskFiles> which) const {
  return which && switches_->of(*which).full.load(std::memory_order_relaxed) != 0;
}

Status FaultyFileSystem::meet(const std::string& path, Operation operation) const {
  return meet(files_at(path), path, operation);
}

Status FaultyFileSystem::meet(std::optional<DiskFiles> which, const std::string& path,
                              Operation operation) const {
  if (!which || (*which == DiskFiles::kOutput && operation == Operation::kReads)) return Status();
  DiskState& disk = switches_->of(*which);
  bool met = disk.delay_ms.load(std::memory_order_relaxed) != 0;
  if (met) wait_for(disk.delay_ms);
  Status status;
  if (disk.fails.load(std::memory_order_relaxed) != 0) {
    status = broken(path);
  } else if (operation == Operation::kNeedsRoom && is_full(which)) {
    status = full(path);
  }
  met = met || !status.ok();
  if (met) disk.met.fetch_add(1, std::memory_order_relaxed);
  return status;
}

Result<std::unique_ptr<ReadableFile>> FaultyFileSystem::open(const std::string& path) {
  RETURN_IF_ERROR(meet(path, Operation::kReads));
  ASSIGN_OR_RETURN(auto file, files_->open(path));
  return std::unique_ptr<ReadableFile>(std::make_unique<Reader>(*this, path, std::move(file)));
}

Result<std::unique_ptr<WritableFile>> FaultyFileSystem::create(const std::string& path) {
  RETURN_IF_ERROR(meet(path, Operation::kNeedsRoom));
  ASSIGN_OR_RETURN(auto file, files_->create(path));
  return std::unique_ptr<WritableFile>(std::make_unique<Writer>(*this, path, std::move(file)));
}

Result<FileInfo> FaultyFileSystem::info(const std::string& path) {
  RETURN_IF_ERROR(meet(path, Operation::kReads));
  return files_->info(path);
}

Result<std::vector<FileInfo>> FaultyFileSystem::list(const std::string& directory) {
  RETURN_IF_ERROR(meet(directory, Operation::kReads));
  return files_->list(directory);
}

Status FaultyFileSystem::create_directories(const std::string& path) {
  const bool is_there = files_->info(path).ok();
  RETURN_IF_ERROR(meet(path, is_there ? Operation::kWrites : Operation::kNeedsRoom));
  return files_->create_directories(path);
}

Status FaultyFileSystem::create_new_directory(const std::string& path) {
  RETURN_IF_ERROR(meet(path, Operation::kNeedsRoom));
  return files_->create_new_directory(path);
}

Status FaultyFileSystem::rename(const std::string& from, const std::string& to) {
  RETURN_IF_ERROR(meet(from, Operation::kWrites));
  return files_->rename(from, to);
}

Status FaultyFileSystem::rename_unsynced(const std::string& from, const std::string& to) {
  RETURN_IF_ERROR(meet(from, Operation::kWrites));
  return files_->rename_unsynced(from, to);
}

Status FaultyFileSystem::remove(const std::string& path) {
  RETURN_IF_ERROR(meet(path, Operation::kWrites));
  return files_->remove(path);
}

Status FaultyFileSystem::remove_all(const std::string& path) {
  RETURN_IF_ERROR(meet(path, Operation::kWrites));
  return files_->remove_all(path);
}

Status FaultyFileSystem::remove_empty_directory(const std::string& path) {
  RETURN_IF_ERROR(meet(path, Operation::kWrites));
  return files_->remove_empty_directory(path);
}

}  // namespace freshet
