#include "runtime/app/module_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "runtime/app/local_state.h"
#include "runtime/app/private_directory.h"
#include "runtime/base/hash.h"

namespace freshet {

namespace {

constexpr std::string_view kName = ".modules";  // No cluster is called so.
constexpr std::string_view kBuilding = ".building";
constexpr std::string_view kFirstLine = "freshet-module 1";
constexpr std::string_view kManifest = ".manifest";
constexpr std::string_view kStarted = "/started";  // As old as the build.
constexpr size_t kHashSize = 32;
constexpr size_t kStemMax = 128;  // Names of files have 255 bytes at most.

/// `file HASH PATH`: whether that file still has this content.
bool is_unchanged(const std::string& line, FileSystem& files) {
  constexpr std::string_view kStart = "file ";
  if (!line.starts_with(kStart) || line.size() < kStart.size() + kHashSize + 2) return false;
  const std::string hash = line.substr(kStart.size(), kHashSize);
  const auto bytes = files.read_all(line.substr(kStart.size() + kHashSize + 1));
  return bytes.ok() && content_hash(*bytes) == hash;
}

bool is_older(const std::string& file, const std::string& than) {
  std::error_code error;
  const auto time = std::filesystem::last_write_time(file, error);
  if (error) return false;
  const auto limit = std::filesystem::last_write_time(than, error);
  return !error && time < limit;
}

/// It was used now.
void touch(const std::string& path) {
  static_cast<void>(utimensat(AT_FDCWD, path.c_str(), nullptr, 0));
}

}  // namespace

Result<ModuleCache> ModuleCache::of(const std::string& state_directory, FileSystem& files) {
  const std::string directory = fmt::format("{}/{}", state_directory, kName);
  RETURN_IF_ERROR(check_parent_directory(state_directory));
  const Status made = make_private_directory(directory);
  if (!made.ok() && made.code() != StatusCode::kAlreadyExists) return made;
  RETURN_IF_ERROR(check_private_directory(directory));
  return ModuleCache(directory, files);
}

std::optional<std::string> ModuleCache::find(const std::string& key) const {
  const std::string manifest_file = manifest_of(key);
  const auto manifest = files_.read_all(manifest_file);
  if (!manifest.ok()) return std::nullopt;
  constexpr std::string_view kModule = "module ";
  std::istringstream lines(*manifest);
  std::string line;
  if (!std::getline(lines, line) || line != kFirstLine) return std::nullopt;
  if (!std::getline(lines, line) || !line.starts_with(kModule)) return std::nullopt;
  std::string module = directory_ + "/" + line.substr(kModule.size());
  if (!files_.info(module).ok()) return std::nullopt;
  while (std::getline(lines, line)) {
    if (!is_unchanged(line, files_)) return std::nullopt;
  }
  touch(module);
  touch(manifest_file);
  return module;
}

Result<std::string> ModuleCache::make_build_directory() const {
  remove_stale_local_state(directory_, kBuilding, files_);
  std::string directory = local_state_directory(directory_, kBuilding);
  RETURN_IF_ERROR(make_private_directory(directory));
  RETURN_IF_ERROR(files_.create(directory + std::string(kStarted)).status());
  return directory;
}

Result<std::string> ModuleCache::store(const std::string& key, const std::string& module,
                                       const std::vector<std::string>& inputs) const {
  ASSIGN_OR_RETURN(const std::string bytes, files_.read_all(module));
  const std::string stem = std::filesystem::path(module).stem().string().substr(0, kStemMax);
  const std::string name = fmt::format("{}-{}.so", stem, content_hash(bytes));
  std::string path = directory_ + "/" + name;
  RETURN_IF_ERROR(files_.rename(module, path));
  std::string manifest = fmt::format("{}\nmodule {}\n", kFirstLine, name);
  const std::string started =
      std::filesystem::path(module).parent_path().string() + std::string(kStarted);
  for (const std::string& input : inputs) {
    const auto content = files_.read_all(input);
    const bool known = content.ok() && input.find('\n') == std::string::npos;
    if (!known || !is_older(input, started)) return path;  // Which content was built is unknown.
    manifest += fmt::format("file {} {}\n", content_hash(*content), input);
  }
  if (!inputs.empty()) RETURN_IF_ERROR(files_.write_atomically(manifest_of(key), manifest));
  remove_oldest();
  return path;
}

std::string ModuleCache::manifest_of(const std::string& key) const {
  return fmt::format("{}/{}{}", directory_, key, kManifest);
}

void ModuleCache::remove_oldest() const {
  const auto entries = files_.list(directory_);
  if (!entries.ok()) return;
  for (const std::string_view ending : {std::string_view(".so"), kManifest}) {
    std::vector<std::pair<std::filesystem::file_time_type, std::string>> by_age;
    for (const FileInfo& entry : *entries) {
      std::error_code error;
      const auto time = std::filesystem::last_write_time(entry.path, error);
      if (!error && !entry.is_directory && entry.path.ends_with(ending))
        by_age.emplace_back(time, entry.path);
    }
    std::sort(by_age.begin(), by_age.end());
    for (size_t i = 0; i + kModulesMax < by_age.size(); i++)
      static_cast<void>(files_.remove(by_age[i].second));
  }
}

}  // namespace freshet
