#include "runtime/app/process_logs.h"

#include <sys/stat.h>

#include <algorithm>

#include "runtime/app/file_range.h"

namespace freshet {

namespace {

constexpr std::string_view kLogEnd = ".log";
constexpr std::string_view kOutputEnd = ".out";

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? "." : path.substr(0, slash);
}

/// `taskmanager-1`
std::string stem_of(const std::string& log_path) {
  std::string name = log_name(log_path);
  if (name.ends_with(kLogEnd)) name.resize(name.size() - kLogEnd.size());
  return name;
}

EpochMillis modified(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return kNever;
  constexpr int64_t kNanosPerMilli = 1'000'000;
  return int64_t{info.st_mtim.tv_sec} * 1000 + info.st_mtim.tv_nsec / kNanosPerMilli;
}

Status check(const std::string& log_path) {
  if (!log_path.empty()) return Status();
  return not_found("it logs to its standard error, and to no file");
}

}  // namespace

std::string log_name(const std::string& log_path) {
  return log_path.substr(log_path.rfind('/') + 1);  // npos + 1 is 0.
}

std::string output_name(const std::string& log_path) {
  return stem_of(log_path) + std::string(kOutputEnd);
}

Result<std::vector<LogFileView>> log_files(const std::string& log_path, FileSystem& files) {
  RETURN_IF_ERROR(check(log_path));
  ASSIGN_OR_RETURN(const auto entries, files.list(directory_of(log_path)));
  const std::string begin = stem_of(log_path) + ".";
  std::vector<LogFileView> found;
  for (const FileInfo& entry : entries) {
    const std::string name = log_name(entry.path);
    const bool ours = name == log_name(log_path) || name == output_name(log_path) ||
                      (name.starts_with(begin) && name.ends_with(kLogEnd));
    if (ours && !entry.is_directory && !entry.is_special && !entry.is_link)
      found.push_back({name, entry.size_bytes, modified(entry.path)});
  }
  std::ranges::sort(found, {}, &LogFileView::name);
  return found;
}

Result<std::string> log_text(const std::string& log_path, const std::string& name,
                             FileSystem& files) {
  ASSIGN_OR_RETURN(const auto known, log_files(log_path, files));
  const auto file = std::ranges::find(known, name, &LogFileView::name);
  if (file == known.end()) return not_found("there is no log '" + name.substr(0, 64) + "'");
  const uint64_t begin = file->size_bytes - std::min(file->size_bytes, kLogTextBytesMax);
  ASSIGN_OR_RETURN(std::string text,
                   read_range(files, directory_of(log_path) + "/" + name, begin, file->size_bytes));
  if (begin > 0) text.erase(0, text.find('\n') + 1);
  return text;
}

}  // namespace freshet
