#include "runtime/app/temp_roots.h"

#include <algorithm>
#include <utility>

#include "runtime/base/hash.h"
#include "runtime/base/log.h"
#include "shuffle/temp_directories.h"

namespace freshet {

namespace {}  // namespace

std::vector<std::string> TempRoots::directories_of(std::string_view setting) {
  std::vector<std::string> parts;
  while (!setting.empty()) {
    const size_t comma = std::min(setting.find(','), setting.size());
    std::string_view part = setting.substr(0, comma);
    setting.remove_prefix(std::min(comma + 1, setting.size()));
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && (part.back() == ' ' || (part.back() == '/' && part.size() > 1)))
      part.remove_suffix(1);
    if (!part.empty()) parts.emplace_back(part);
  }
  return parts;
}

Result<TempRoots> TempRoots::open(std::string_view setting, const std::string& state_directory,
                                  FileSystem& files) {
  TempRoots roots;
  const std::vector<std::string> directories = directories_of(setting);
  if (directories.empty()) {
    roots.roots_ = {state_directory};
    return roots;
  }
  roots.files_ = &files;
  for (const std::string& directory : directories) {
    if (directory.front() != '/')
      return invalid_argument("io.tmp.dirs: '" + directory + "' is not an absolute path");
    if (std::ranges::count(directories, directory) > 1)
      return invalid_argument("io.tmp.dirs: '" + directory + "' is named twice");
    const auto info = files.info(directory);
    RETURN_IF_ERROR(info.status().with_context("io.tmp.dirs"));
    if (!info->is_directory)
      return invalid_argument("io.tmp.dirs: " + directory + " is not a directory");
    roots.roots_.push_back(directory + "/freshet-" + content_hash(state_directory));
  }
  const Status usable = roots.make();
  if (!usable.ok()) roots.remove();
  RETURN_IF_ERROR(usable.with_context("io.tmp.dirs"));
  return roots;
}

/// Each in its own: another TaskManager may be trying the same.
Status TempRoots::make() const {
  for (const std::string& root : roots_) {
    RETURN_IF_ERROR(files_->create_directories(root));
    RETURN_IF_ERROR(TempDirectories::check(*files_, root));
  }
  return Status();
}

SpillPlace TempRoots::place(std::string_view name, SpillPlace place) const {
  const auto below = [name](const std::string& root) { return root + "/" + std::string(name); };
  place.directory = below(roots_.front());
  for (size_t i = 1; i < roots_.size(); ++i) place.others.push_back(below(roots_[i]));
  if (files_ != nullptr) place.roots = roots_;
  return place;
}

void TempRoots::remove() const {
  if (files_ == nullptr) return;
  for (const std::string& root : roots_) {
    const Status status = files_->remove_all(root);
    if (!status.ok()) LOG_WARN("temp_directory_not_removed", {{"path", root}, {"cause", status}});
  }
}

}  // namespace freshet
