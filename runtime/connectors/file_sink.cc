#include "runtime/connectors/file_sink.h"

#include <fmt/format.h>

#include <filesystem>

#include "runtime/connectors/connector_error.h"
#include "runtime/connectors/output_directory.h"
#include "runtime/connectors/sink_operator.h"
#include "runtime/operators/permanent_failure.h"

namespace freshet {

namespace {

constexpr uint64_t kSubtasksMax = 1u << 20;

/// One file of one attempt. Its encoding is the committable.
struct AttemptFile {
  std::string directory;
  JobId job;
  AttemptNumber attempt = 0;
  uint32_t subtask = 0;
  uint32_t subtasks = 1;  // Each has a file.

  std::string name() const { return OutputDirectory::part_name(subtask); }
};

std::string encode(const AttemptFile& file) {
  Encoder encoder;
  encoder.write_string(file.directory);
  encoder.write_varint(file.job.high);
  encoder.write_varint(file.job.low);
  encoder.write_varint(file.attempt);
  encoder.write_varint(file.subtask);
  encoder.write_varint(file.subtasks);
  return std::string(encoder.bytes());
}

Result<AttemptFile> decode(const std::string& payload) {
  try {
    Decoder decoder(payload);
    AttemptFile file;
    file.directory = decoder.read_string();
    file.job.high = decoder.read_varint();
    file.job.low = decoder.read_varint();
    const uint64_t attempt = decoder.read_varint();
    const uint64_t subtask = decoder.read_varint();
    const uint64_t subtasks = decoder.read_varint();
    file.attempt = static_cast<AttemptNumber>(attempt);
    file.subtask = static_cast<uint32_t>(subtask);
    file.subtasks = static_cast<uint32_t>(subtasks);
    if (decoder.remaining() == 0 && !file.directory.empty() && file.attempt == attempt &&
        subtask < subtasks && subtasks <= kSubtasksMax) {
      return file;
    }
  } catch (const CodecError&) {
  }
  return invalid_argument("a committable of a file sink is damaged");
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
    place_.subtasks = context.parallelism();
    // What is there already is an observation of the outside.
    throw_if_refused(context.external("claim " + place_.directory, [this] { return claim(); }));
    path_ = output().attempt_directory(place_.attempt) + "/" + place_.name();
    file_ = create_file(context.parallelism());
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
    if (!path_.empty()) (void)files_->remove(path_);
    output().remove_if_empty(place_.attempt);
  }

 private:
  static constexpr size_t kBufferBytes = 64 << 10;
  static constexpr char kForGood = '!';  // Somebody else's directory.
  static constexpr char kForNow = '?';   // Everything else may heal.

  /// Empty, or why not, after a sign that says whether that stays so.
  std::string claim() {
    const Status claimed = output().claim(place_.attempt, place_.subtask);
    if (claimed.ok()) return "";
    return (claimed.code() == StatusCode::kAlreadyExists ? kForGood : kForNow) + claimed.message();
  }

  static void throw_if_refused(const std::string& answer) {
    if (answer.empty()) return;
    if (answer.front() == kForGood) throw PermanentFailure(answer.substr(1));
    throw_if_error(failed_precondition(answer.substr(1)));
  }

  OutputDirectory output() { return OutputDirectory(place_.directory, place_.job, *files_); }

  /// Another subtask that gave up may have removed the directory while nothing was in it: each does
  /// so at most once.
  std::unique_ptr<WritableFile> create_file(uint32_t parallelism) {
    auto file = files_->create(path_);
    for (uint32_t i = 0; i < parallelism && file.status().code() == StatusCode::kNotFound; ++i) {
      throw_if_refused(claim());
      file = files_->create(path_);
    }
    return value_or_throw(std::move(file));
  }

  void flush() {
    throw_if_error(file_->append(lines_));
    lines_.clear();
  }

  ErasedLineFormat format_;
  AttemptFile place_;
  FileSystem* files_ = nullptr;
  std::unique_ptr<WritableFile> file_;
  std::string path_;  // Empty before open() has made way for it.
  std::string lines_;
  bool prepared_ = false;
};

class FileCommitter final : public Committer {
 public:
  Status commit(const std::string& payload, FileSystem& files) override {
    ASSIGN_OR_RETURN(const AttemptFile file, decode(payload));
    OutputDirectory output(file.directory, file.job, files);
    RETURN_IF_ERROR(output.publish(file.attempt, file.subtask, file.subtasks)
                        .with_context(fmt::format("cannot publish to '{}'", file.directory)));
    if (output.has(file.subtask)) return Status();
    return not_found(fmt::format("cannot publish '{}/{}': it was removed from '{}'", file.directory,
                                 file.name(), output.attempt_directory(file.attempt)));
  }
};

/// The same for all ways to write one path.
std::string owned(const std::string& directory) {
  std::string normal = std::filesystem::path(directory).lexically_normal().string();
  while (normal.size() > 1 && normal.ends_with('/')) normal.pop_back();
  return fmt::format("output '{}'", normal);
}

}  // namespace

std::shared_ptr<const OperatorFactory> make_file_factory(std::string directory,
                                                         ErasedLineFormat format) {
  while (directory.size() > 1 && directory.ends_with('/')) directory.pop_back();
  SinkParts parts;
  parts.owned = owned(directory);
  parts.publication = {.visible = Visible::kCommitted, .directory = directory};
  parts.writer = [directory, format = std::move(format)] {
    return std::make_unique<FileWriter>(directory, format);
  };
  parts.committer = [] { return std::make_unique<FileCommitter>(); };
  parts.check = [directory](const JobId& job, FileSystem& files) {
    return OutputDirectory(directory, job, files).check();
  };
  parts.clean_up = [directory](const JobId& job, FileSystem& files) {
    OutputDirectory(directory, job, files).remove_leftovers();
  };
  return make_sink_factory(std::move(parts));
}

}  // namespace freshet
