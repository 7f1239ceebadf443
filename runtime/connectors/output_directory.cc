#include "runtime/connectors/output_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace freshet {

namespace {

constexpr std::string_view kAttempt = ".attempt-";
constexpr std::string_view kRemoved = ".removed-";  // Before a job: its attempt is being removed.
constexpr int kLooksAtEmpty = 3;
constexpr int kGivenUpMax = 100;                     // While one other subtask makes a directory.
constexpr std::string_view kTombstone = ".removed";  // In an attempt that is being removed.

std::string_view name_of(const FileInfo& entry) {
  const std::string_view path = entry.path;
  return path.substr(path.rfind('/') + 1);
}

bool is_attempt(const FileInfo& entry) {
  const std::string_view name = name_of(entry);
  return entry.is_directory && name.starts_with(kAttempt) && name.size() > kAttempt.size() &&
         std::all_of(name.begin() + kAttempt.size(), name.end(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

/// What a directory has; nothing when it cannot be read.
std::vector<FileInfo> entries_of(const std::string& directory, FileSystem& files) {
  auto entries = files.list(directory);
  return entries.ok() ? *std::move(entries) : std::vector<FileInfo>();
}

}  // namespace

OutputDirectory::OutputDirectory(std::string path, const JobId& job, FileSystem& files)
    : path_(std::move(path)),
      parent_(path_.substr(0, path_.rfind('/') + 1)),
      name_(path_.substr(parent_.size())),
      job_(job.to_string()),
      files_(files) {}

std::string OutputDirectory::attempt_directory(AttemptNumber attempt) const {
  return fmt::format("{}/{}{}/{}", path_, kAttempt, attempt, job_);
}

std::string OutputDirectory::beside(std::string_view purpose) const {
  return fmt::format("{}.{}.{}-", parent_, name_, purpose);
}

std::vector<OutputDirectory::Owned> OutputDirectory::beside_for(std::string_view purpose) const {
  const std::string prefix = fmt::format(".{}.{}-", name_, purpose);
  std::vector<Owned> found;
  for (const FileInfo& entry : entries_of(parent_.empty() ? "." : parent_, files_)) {
    const std::string_view name = name_of(entry);
    if (!entry.is_directory || !name.starts_with(prefix)) continue;
    found.push_back({parent_ + std::string(name), std::string(name.substr(prefix.size()))});
  }
  return found;
}

std::vector<OutputDirectory::Owned> OutputDirectory::attempts() const {
  std::vector<Owned> found;
  for (const FileInfo& attempt : entries_of(path_, files_)) {
    if (!is_attempt(attempt)) continue;
    for (const FileInfo& entry : entries_of(attempt.path, files_)) {
      std::string_view owner = name_of(entry);
      if (owner.starts_with(kRemoved)) owner.remove_prefix(kRemoved.size());
      found.push_back({entry.path, std::string(owner)});
    }
  }
  return found;
}

// ---- Before anything is written

Status OutputDirectory::check() {
  if (name_.empty()) return invalid_argument("the output directory has no name");
  for (const Owned& removed : beside_for("removed")) remove_leftovers_of(removed.owner);
  for (const Owned& probe : beside_for("probe")) (void)files_.remove_empty_directory(probe.path);
  for (const Owned& emptied : beside_for("emptied")) remove_empty(emptied.owner);
  for (const Owned& result : beside_for("result")) {
    RETURN_IF_ERROR(put_in_place(result.owner)
                        .with_context(fmt::format(
                            "job {} was lost while it published to '{}'; its result is in '{}'",
                            result.owner, path_, result.path)));
  }
  const auto info = files_.info(path_);
  if (!info.ok() && info.status().code() != StatusCode::kNotFound) {
    return info.status().with_context("output directory '" + path_ + "'");
  }
  if (!info.ok()) RETURN_IF_ERROR(check_can_be_made());
  RETURN_IF_ERROR(refuse_what_is_visible());
  return refuse_other_jobs();
}

/// By making another directory in the nearest one above that is there. Leaves nothing.
Status OutputDirectory::check_can_be_made() const {
  std::string above = path_;
  Result<FileInfo> info = not_found(path_);
  while (!info.ok() && above.find('/') != std::string::npos) {
    above.resize(above.rfind('/'));
    info = files_.info(above.empty() ? "/" : above);
  }
  if (info.ok() && !info->is_directory) {
    return failed_precondition(fmt::format(
        "output '{}' cannot be made: {} is no directory; name another place", path_, above));
  }
  const std::string place = info.ok() ? above + "/" : std::string();
  const std::string probe = fmt::format("{}.{}.probe-{}", place, name_, job_);
  const Status made = files_.create_directories(probe);
  (void)files_.remove_empty_directory(probe);
  // The message of a failure names the probe, which no user knows.
  if (made.ok()) return made;
  std::string why = made.message();
  if (why.starts_with(probe + ": ")) why.erase(0, probe.size() + 2);
  const std::string in = info.ok() ? (above.empty() ? "/" : above) : "the working directory";
  return Status(made.code(), fmt::format("output '{}' cannot be made: {} takes no new directory "
                                         "({}); name another place, or let the TaskManagers "
                                         "write there",
                                         path_, in, why));
}

Status OutputDirectory::refuse_what_is_visible() const {
  for (int look = 0; look < kLooksAtEmpty; look++) {
    const auto entries = files_.list(path_);
    if (!entries.ok()) {
      const auto info = files_.info(path_);
      if (!info.ok() && info.status().code() == StatusCode::kNotFound) return Status();
      const bool new_now = entries.status().code() == StatusCode::kNotFound;
      if (new_now && info.ok() && info->is_directory) continue;
      if (!info.ok() || info->is_directory) {
        return entries.status().with_context(fmt::format("output '{}'", path_));
      }
      break;
    }
    if (!entries->empty()) {
      if (std::all_of(entries->begin(), entries->end(), is_attempt)) return Status();
      break;
    }
    // It is empty for a moment while a subtask that gave up removes it; the next one may have
    // claimed it before that shows.
    if (!beside_for("emptied").empty() || !files_.info(path_).ok()) return Status();
  }
  return already_exists(
      fmt::format("output '{}' exists already; remove it or name another directory", path_));
}

Status OutputDirectory::refuse_other_jobs() const {
  for (const Owned& attempt : attempts()) {
    if (attempt.owner == job_) continue;
    return already_exists(
        fmt::format("output '{}' has unfinished files of job {}; name another directory or, if "
                    "that job does not run any more, remove this one",
                    path_, attempt.owner));
  }
  return Status();
}

Status OutputDirectory::claim(AttemptNumber attempt, uint32_t subtask) {
  const std::string directory = attempt_directory(attempt);
  if (entries_of(path_, files_).empty()) {
    // A directory with something in it takes the name at once, and nobody takes it after that.
    const std::string claim = fmt::format("{}{}-{}-{}", beside("claim"), job_, attempt, subtask);
    RETURN_IF_ERROR(files_.create_directories(claim + directory.substr(path_.size()))
                        .with_context(fmt::format("output '{}' cannot be made", path_)));
    (void)files_.rename(claim, path_);  // Another subtask, or another job, may be faster.
    (void)files_.remove_all(claim);
  }
  RETURN_IF_ERROR(refuse_what_is_visible());
  RETURN_IF_ERROR(refuse_other_jobs());
  RETURN_IF_ERROR(make_attempt(directory));
  // Meanwhile the job may have given the directory up, and another one claimed it.
  Status refused = refuse_what_is_visible();
  if (refused.ok()) refused = refuse_other_jobs();
  if (!refused.ok()) remove_if_empty(attempt);
  return refused;
}

/// What is above may be removed meanwhile, by each other subtask that gives up.
Status OutputDirectory::make_attempt(const std::string& directory) {
  Status made;
  for (int i = 0; i < kGivenUpMax; i++) {
    made = files_.create_directories(directory);
    if (made.code() != StatusCode::kNotFound) break;
  }
  return made;
}

void OutputDirectory::remove_if_empty(AttemptNumber attempt) {
  (void)files_.remove_empty_directory(attempt_directory(attempt));
  const auto entries = entries_of(path_, files_);
  if (entries.empty() || !std::all_of(entries.begin(), entries.end(), is_attempt)) return;
  if (attempts().empty()) remove_empty(job_);
}

void OutputDirectory::remove_empty(const std::string& owner) {
  // While this is there, whoever comes next knows why DIR is empty.
  const std::string emptied = beside("emptied") + owner;
  (void)files_.create_directories(emptied);
  remove_empty_attempts();
  (void)files_.remove_empty_directory(path_);
  (void)files_.remove_empty_directory(emptied);
}

// ---- At the end

Status OutputDirectory::publish(AttemptNumber attempt) {
  const std::string result = beside("result") + job_;
  const Status decided = files_.rename(attempt_directory(attempt), result);
  if (!decided.ok() && decided.code() != StatusCode::kNotFound) return decided;
  const auto info = files_.info(result);
  if (info.ok()) return put_in_place(job_);
  return info.status().code() == StatusCode::kNotFound ? Status() : info.status();
}

Status OutputDirectory::put_in_place(const std::string& owner) {
  const std::string result = beside("result") + owner;
  if (files_.info(fmt::format("{}/{}", result, kTombstone)).ok()) {
    remove_tombstone_last(result);
    return Status();
  }
  for (const Owned& attempt : attempts()) {
    if (attempt.owner == owner) (void)files_.remove_all(attempt.path);
  }
  remove_empty_attempts();
  const Status placed = files_.rename(result, path_);
  return placed.code() == StatusCode::kNotFound ? Status() : placed;  // Somebody else did it.
}

bool OutputDirectory::is_published(const std::string& file) const {
  return files_.info(path_ + "/" + file).ok();
}

void OutputDirectory::remove_empty_attempts() {
  for (const FileInfo& entry : entries_of(path_, files_)) {
    if (is_attempt(entry)) (void)files_.remove_empty_directory(entry.path);
  }
}

void OutputDirectory::remove_leftovers() {
  for (const Owned& claim : beside_for("claim")) {
    if (claim.owner.starts_with(job_)) (void)files_.remove_all(claim.path);
  }
  for (const Owned& emptied : beside_for("emptied")) {
    if (emptied.owner == job_) remove_empty(job_);
  }
  // An empty directory was there before the job, or others have removed what was in it.
  const auto entries = entries_of(path_, files_);
  const bool any = std::any_of(entries.begin(), entries.end(), is_attempt);
  const auto is_mine = [this](const Owned& one) { return one.owner == job_; };
  const auto results = beside_for("result");
  const auto removed = beside_for("removed");
  if (any || std::any_of(results.begin(), results.end(), is_mine) ||
      std::any_of(removed.begin(), removed.end(), is_mine)) {
    remove_leftovers_of(job_);
  }
}

void OutputDirectory::remove_leftovers_of(const std::string& owner) {
  const std::string removed = beside("removed") + owner;
  (void)files_.create_directories(removed);
  (void)files_.rename(beside("result") + owner, removed);
  for (const Owned& attempt : attempts()) {
    if (attempt.owner == owner) remove_attempt(attempt);
  }
  remove_empty_attempts();
  (void)files_.remove_empty_directory(path_);
  (void)files_.remove_all(removed);
}

void OutputDirectory::remove_attempt(const Owned& attempt) {
  const std::string parent = attempt.path.substr(0, attempt.path.rfind('/') + 1);
  const std::string removed = fmt::format("{}{}{}", parent, kRemoved, attempt.owner);
  if (attempt.path != removed) {
    (void)files_.remove_all(removed);
    const Status renamed = files_.rename(attempt.path, removed);
    if (!renamed.ok() && renamed.code() != StatusCode::kNotFound) entomb(attempt.path);
  }
  (void)files_.remove_all(removed);
}

/// For a directory that cannot be renamed now: who can rename it while its files go sees by the
/// last of them that it is not whole.
void OutputDirectory::entomb(const std::string& attempt) {
  if (files_.create(fmt::format("{}/{}", attempt, kTombstone)).ok()) remove_tombstone_last(attempt);
}

void OutputDirectory::remove_tombstone_last(const std::string& directory) {
  for (const FileInfo& entry : entries_of(directory, files_)) {
    if (name_of(entry) != kTombstone) (void)files_.remove(entry.path);
  }
  (void)files_.remove_all(directory);
}

}  // namespace freshet
