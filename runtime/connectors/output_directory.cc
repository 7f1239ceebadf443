#include "runtime/connectors/output_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace freshet {

namespace {

constexpr std::string_view kAttempt = ".attempt-";
constexpr std::string_view kRemoved = ".removed-";  // Before a job: its attempt is being removed.
constexpr int kLooksAtEmpty = 3;
constexpr int kGivenUpMax = 100;                     // While one other subtask makes a directory.
constexpr std::string_view kParts = ".parts";        // In a collection: how many there will be.
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

Status ok_or_missing(Status status) {
  return status.code() == StatusCode::kNotFound ? Status() : status;
}

/// 0 when it is no number.
uint32_t parse_count(const std::string& text) {
  uint32_t count = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
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

std::string OutputDirectory::part_name(uint32_t index) { return fmt::format("part-{}", index); }

Result<bool> OutputDirectory::is_there(const std::string& path) const {
  const auto info = files_.info(path);
  if (!info.ok() && info.status().code() != StatusCode::kNotFound) return info.status();
  return info.ok();
}

std::string OutputDirectory::collection() const { return beside("parts") + job_; }

/// With its `.parts` from the first moment on, so that nobody takes less for all. True when this
/// call made it.
Result<bool> OutputDirectory::make_collection(uint32_t index, uint32_t count) {
  ASSIGN_OR_RETURN(const bool there, is_there(collection()));
  if (there) return false;
  const std::string claim = fmt::format("{}{}-parts-{}", beside("claim"), job_, index);
  Status made = files_.create_directories(claim);
  if (made.ok())
    made = files_.write_atomically(fmt::format("{}/{}", claim, kParts), std::to_string(count));
  if (made.ok()) made = files_.rename(claim, collection());
  (void)files_.remove_all(claim);  // Whatever became of it.
  if (made.ok()) return true;
  ASSIGN_OR_RETURN(const bool by_another, is_there(collection()));
  if (by_another) return false;
  return made;
}

Status OutputDirectory::collect(const std::string& part, uint32_t index, uint32_t count) {
  ASSIGN_OR_RETURN(const bool made, make_collection(index, count));
  const Status moved = files_.rename(part, collection() + "/" + part_name(index));
  if (moved.ok() || moved.code() != StatusCode::kNotFound) return moved;
  // Somebody else has moved it: into this collection, or all is published already, or cleaned up.
  if (made && entries_of(collection(), files_).size() == 1) (void)files_.remove_all(collection());
  return Status();
}

Status OutputDirectory::publish(AttemptNumber attempt, uint32_t index, uint32_t count) {
  const std::string part = attempt_directory(attempt) + "/" + part_name(index);
  ASSIGN_OR_RETURN(const bool to_be_collected, is_there(part));
  if (to_be_collected) RETURN_IF_ERROR(collect(part, index, count));
  ASSIGN_OR_RETURN(const bool collecting, is_there(collection()));
  if (collecting) {
    // The next one first: parts come in their order, more or less.
    for (uint32_t k = 1; k <= count; k++) {
      ASSIGN_OR_RETURN(const bool there,
                       is_there(collection() + "/" + part_name((index + k) % count)));
      if (!there) return Status();
    }
    RETURN_IF_ERROR(ok_or_missing(files_.rename(collection(), beside("result") + job_)));
  }
  ASSIGN_OR_RETURN(const bool result, is_there(beside("result") + job_));
  return result ? put_in_place(job_) : Status();
}

bool OutputDirectory::has(uint32_t index) const {
  // In the order in which it goes through them.
  for (const std::string& place : {collection(), beside("result") + job_, path_}) {
    if (files_.info(place + "/" + part_name(index)).ok()) return true;
  }
  return false;
}

/// False for what was collected while the job was cleaned up.
Result<bool> OutputDirectory::is_whole(const std::string& directory, uint32_t count) const {
  for (uint32_t i = 0; i < count; i++) {
    ASSIGN_OR_RETURN(const bool there, is_there(directory + "/" + part_name(i)));
    if (!there) return false;
  }
  return true;
}

Status OutputDirectory::put_in_place(const std::string& owner) {
  const std::string result = beside("result") + owner;
  const std::string parts = fmt::format("{}/{}", result, kParts);
  bool whole = !files_.info(fmt::format("{}/{}", result, kTombstone)).ok();
  if (const auto text = files_.read_all(parts); whole && text.ok()) {
    ASSIGN_OR_RETURN(whole, is_whole(result, parse_count(*text)));
    if (whole) RETURN_IF_ERROR(ok_or_missing(files_.remove(parts)));
  } else if (!text.ok() && text.status().code() != StatusCode::kNotFound) {
    return text.status();
  }
  if (!whole) {
    remove_but_last(result, files_.info(parts).ok() ? kParts : kTombstone);
    return Status();
  }
  for (const Owned& attempt : attempts()) {
    if (attempt.owner == owner) (void)files_.remove_all(attempt.path);
  }
  remove_empty_attempts();
  return ok_or_missing(files_.rename(result, path_));  // Somebody else did it.
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
  if (any || files_.info(collection()).ok() ||
      std::any_of(results.begin(), results.end(), is_mine) ||
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
  // After them: nothing comes into it any more.
  remove_but_last(beside("parts") + owner, kParts);
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
  if (files_.create(fmt::format("{}/{}", attempt, kTombstone)).ok())
    remove_but_last(attempt, kTombstone);
}

/// The file that says that it is not whole goes last.
void OutputDirectory::remove_but_last(const std::string& directory, std::string_view last) {
  for (const FileInfo& entry : entries_of(directory, files_)) {
    if (name_of(entry) != last) (void)files_.remove(entry.path);
  }
  (void)files_.remove_all(directory);
}

}  // namespace freshet
