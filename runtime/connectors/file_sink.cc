#include "runtime/connectors/file_sink.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "runtime/connectors/connector_error.h"
#include "runtime/connectors/sink_operator.h"

namespace freshet {

namespace {

constexpr std::string_view kAttemptPrefix = ".attempt-";
constexpr std::string_view kOwnerPrefix = ".owner-";

/// One file of one attempt. Its encoding is the committable.
///
///   DIRECTORY/.attempt-<n>/.owner-<job>    empty; there before everything else
///   DIRECTORY/.attempt-<n>/part-<subtask>
struct AttemptFile {
  std::string directory;
  JobId job;
  uint64_t attempt = 0;
  uint64_t subtask = 0;

  std::string attempt_directory() const {
    return fmt::format("{}/{}{}", directory, kAttemptPrefix, attempt);
  }
  std::string owner_path() const {
    return fmt::format("{}/{}{}", attempt_directory(), kOwnerPrefix, job.to_string());
  }
  std::string name() const { return fmt::format("part-{}", subtask); }
  std::string hidden_path() const { return attempt_directory() + "/" + name(); }
  std::string final_path() const { return directory + "/" + name(); }
};

std::string encode(const AttemptFile& file) {
  Encoder encoder;
  encoder.write_string(file.directory);
  encoder.write_varint(file.job.high);
  encoder.write_varint(file.job.low);
  encoder.write_varint(file.attempt);
  encoder.write_varint(file.subtask);
  return std::string(encoder.bytes());
}

Result<AttemptFile> decode(const std::string& payload) {
  try {
    Decoder decoder(payload);
    AttemptFile file;
    file.directory = decoder.read_string();
    file.job.high = decoder.read_varint();
    file.job.low = decoder.read_varint();
    file.attempt = decoder.read_varint();
    file.subtask = decoder.read_varint();
    if (decoder.remaining() == 0 && !file.directory.empty()) return file;
  } catch (const CodecError&) {
  }
  return invalid_argument("a committable of a file sink is damaged");
}

std::string_view name_of(const FileInfo& entry) {
  const std::string_view path = entry.path;
  return path.substr(path.rfind('/') + 1);
}

/// A job other than `job` that has files in an attempt's directory. Jobs may come to use one output
/// directory one after the other, and the first may not have been cleaned up yet.
std::optional<std::string> other_owner(const std::string& attempt_directory, const JobId& job,
                                       FileSystem& files) {
  const auto entries = files.list(attempt_directory);
  if (!entries.ok()) return std::nullopt;
  for (const FileInfo& entry : *entries) {
    const std::string_view name = name_of(entry);
    if (!name.starts_with(kOwnerPrefix)) continue;
    std::string owner(name.substr(kOwnerPrefix.size()));
    if (owner != job.to_string()) return owner;
  }
  return std::nullopt;
}

/// Removes an attempt's directory when nothing is in it any more but the note of its owner.
void remove_if_empty(const AttemptFile& file, FileSystem& files) {
  const auto entries = files.list(file.attempt_directory());
  if (!entries.ok()) return;
  for (const FileInfo& entry : *entries) {
    if (entry.path != file.owner_path()) return;
  }
  (void)files.remove(file.owner_path());
  (void)files.remove_empty_directory(file.attempt_directory());
}

/// The attempt of a directory entry; none for other entries.
std::optional<uint64_t> attempt_of(const FileInfo& entry) {
  const std::string_view name = name_of(entry);
  if (!entry.is_directory || !name.starts_with(kAttemptPrefix)) return std::nullopt;
  uint64_t attempt = 0;
  for (const char digit : name.substr(kAttemptPrefix.size())) {
    if (digit < '0' || digit > '9') return std::nullopt;
    attempt = attempt * 10 + static_cast<uint64_t>(digit - '0');
  }
  return attempt;
}

class FileWriter final : public Operator {
 public:
  FileWriter(std::string directory, ErasedLineFormat format) : format_(std::move(format)) {
    place_.directory = std::move(directory);
  }

  void open(OperatorContext& context, std::vector<RecordReceiver*> /*outputs*/) override {
    files_ = &context.files();
    place_.job = context.attempt().job;
    place_.attempt = context.attempt().attempt;
    place_.subtask = context.subtask();
    make_attempt_directory();
    file_ = value_or_throw(files_->create(place_.hidden_path()));
    file_made_ = true;
    lines_.reserve(kBufferBytes + kBufferBytes / 4);
  }

  void process(uint32_t /*input*/, const void* record, EpochMillis /*timestamp*/) override {
    format_(record, lines_);
    lines_.push_back('\n');
    if (lines_.size() >= kBufferBytes) flush();
  }

  bool finish() override {
    flush();
    return true;
  }

  std::vector<std::string> prepare_commit() override {
    flush();
    throw_if_error(file_->sync());
    throw_if_error(file_->close());
    file_.reset();
    prepared_ = true;
    return {encode(place_)};
  }

  void close() override {
    file_.reset();
    if (files_ == nullptr || prepared_) return;  // What is prepared belongs to the committer.
    if (file_made_) (void)files_->remove(place_.hidden_path());
    remove_if_empty(place_, *files_);
    (void)files_->remove_empty_directory(place_.directory);
  }

 private:
  static constexpr size_t kBufferBytes = 64 << 10;

  /// The output directory appears together with the attempt's: another TaskManager, which looks
  /// whether it existed before the job, must never see it empty.
  void make_attempt_directory() {
    if (!files_->info(place_.directory).ok()) {
      AttemptFile prepared = place_;
      const size_t name = place_.directory.rfind('/') + 1;
      prepared.directory =
          fmt::format("{}.{}.{}-{}", place_.directory.substr(0, name),
                      place_.directory.substr(name), place_.attempt, place_.subtask);
      make_owned(prepared);
      (void)files_->rename(prepared.directory, place_.directory);  // Another subtask may be faster.
      (void)files_->remove_all(prepared.directory);
    }
    make_owned(place_);
    const auto other = other_owner(place_.attempt_directory(), place_.job, *files_);
    if (!other) return;
    (void)files_->remove(place_.owner_path());
    throw_if_error(unavailable(
        fmt::format("output '{}' still has files of job {}", place_.directory, *other)));
  }

  void make_owned(const AttemptFile& place) {
    throw_if_error(files_->create_directories(place.attempt_directory()));
    throw_if_error(files_->create(place.owner_path()).status());
  }

  void flush() {
    throw_if_error(file_->append(lines_));
    lines_.clear();
  }

  ErasedLineFormat format_;
  AttemptFile place_;
  FileSystem* files_ = nullptr;
  std::unique_ptr<WritableFile> file_;
  std::string lines_;
  bool file_made_ = false;
  bool prepared_ = false;
};

class FileCommitter final : public Committer {
 public:
  Status commit(const std::string& payload, FileSystem& files) override {
    ASSIGN_OR_RETURN(const AttemptFile file, decode(payload));
    const Status renamed = files.rename(file.hidden_path(), file.final_path());
    if (!renamed.ok() && !was_committed(file, renamed, files)) {
      return renamed.with_context(
          fmt::format("cannot publish {} ({} parts are published already and stay in '{}')",
                      file.final_path(), published_parts(file, files), file.directory));
    }
    // Only tidying: what fails here is no reason to fail a job that is done.
    remove_if_empty(file, files);
    remove_attempts_before(file, files);
    return Status();
  }

 private:
  static size_t published_parts(const AttemptFile& file, FileSystem& files) {
    const auto entries = files.list(file.directory);
    if (!entries.ok()) return 0;
    return static_cast<size_t>(
        std::count_if(entries->begin(), entries->end(), [](const FileInfo& entry) {
          const std::string_view path = entry.path;
          return !entry.is_directory && path.substr(path.rfind('/')).starts_with("/part-");
        }));
  }

  static bool was_committed(const AttemptFile& file, const Status& renamed, FileSystem& files) {
    return renamed.code() == StatusCode::kNotFound && files.info(file.final_path()).ok();
  }

  static void remove_attempts_before(const AttemptFile& file, FileSystem& files) {
    const auto entries = files.list(file.directory);
    if (!entries.ok()) return;
    for (const FileInfo& entry : *entries) {
      const auto attempt = attempt_of(entry);
      if (!attempt || *attempt >= file.attempt) continue;
      if (!other_owner(entry.path, file.job, files)) (void)files.remove_all(entry.path);
    }
  }
};

/// True when nothing is in it but the first attempt's hidden files: those of other subtasks of the
/// same execution, which another TaskManager may have begun before this one could look.
bool holds_first_attempt_only(const std::string& directory, FileSystem& files) {
  const auto entries = files.list(directory);
  return entries.ok() && entries->size() == 1 && attempt_of(entries->front()) == 0u;
}

Status check_absent(const std::string& directory, FileSystem& files) {
  if (directory.empty()) return invalid_argument("the output directory has no name");
  const auto info = files.info(directory);
  if (info.status().code() == StatusCode::kNotFound) return Status();
  if (!info.ok()) return info.status().with_context("output directory '" + directory + "'");
  if (info->is_directory && holds_first_attempt_only(directory, files)) return Status();
  return already_exists(
      fmt::format("output '{}' exists already; remove it or name another directory", directory));
}

void remove_leftovers(const std::string& directory, const JobId& job, FileSystem& files) {
  const auto entries = files.list(directory);
  if (!entries.ok()) return;
  for (const FileInfo& entry : *entries) {
    if (attempt_of(entry) && !other_owner(entry.path, job, files)) {
      (void)files.remove_all(entry.path);
    }
  }
  (void)files.remove_empty_directory(directory);
}

}  // namespace

std::shared_ptr<const OperatorFactory> make_file_factory(std::string directory,
                                                         ErasedLineFormat format) {
  while (directory.size() > 1 && directory.ends_with('/')) directory.pop_back();
  SinkParts parts;
  parts.writer = [directory, format = std::move(format)] {
    return std::make_unique<FileWriter>(directory, format);
  };
  parts.committer = [] { return std::make_unique<FileCommitter>(); };
  parts.check = [directory](FileSystem& files) { return check_absent(directory, files); };
  parts.clean_up = [directory](const JobId& job, FileSystem& files) {
    remove_leftovers(directory, job, files);
  };
  return make_sink_factory(std::move(parts));
}

}  // namespace freshet
