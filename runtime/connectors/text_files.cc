#include "runtime/connectors/text_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/configuration.h"
#include "runtime/connectors/connector_error.h"
#include "runtime/connectors/line_reader.h"
#include "runtime/connectors/path_pattern.h"
#include "runtime/connectors/split_source.h"

namespace freshet {

namespace {

std::string encode_files(const std::vector<FileInfo>& files) {
  Encoder encoder;
  encoder.write_varint(files.size());
  for (const FileInfo& file : files) {
    encoder.write_string(file.path);
    encoder.write_varint(file.size_bytes);
  }
  return std::string(encoder.bytes());
}

std::vector<FileInfo> decode_files(const std::string& bytes) {
  Decoder decoder(bytes);
  std::vector<FileInfo> files;
  for (uint64_t left = decoder.read_varint(); left > 0; left--) {
    FileInfo file;
    file.path = decoder.read_string();
    file.size_bytes = decoder.read_varint();
    files.push_back(std::move(file));
  }
  return files;
}

uint64_t split_bytes(const OperatorContext& context) {
  Configuration configuration;
  const std::string name(config::kSplitBytes.name);
  const std::string value = context.setting(name);
  if (!value.empty()) throw_if_error(configuration.set(name, value));
  return value_or_throw(configuration.bytes(config::kSplitBytes));
}

class TextFileSupply final : public SplitSupply {
 public:
  explicit TextFileSupply(std::vector<std::string> patterns) : patterns_(std::move(patterns)) {}

  void open(OperatorContext& context) override {
    split_bytes_ = split_bytes(context);
    files_ = decode_files(context.external("text_files", [&] {
      return encode_files(value_or_throw(expand_patterns(patterns_, context.files())));
    }));
  }

  std::optional<std::string> next() override {
    while (index_ < files_.size() && begin_ >= files_[index_].size_bytes) {
      index_++;
      begin_ = 0;
    }
    if (index_ == files_.size()) return std::nullopt;
    const FileInfo& file = files_[index_];
    const uint64_t size = std::min(split_bytes_, file.size_bytes - begin_);
    TextRange range{file.path, begin_, begin_ + size, file.size_bytes};
    begin_ += size;
    return encode_text_range(range);
  }

 private:
  std::vector<std::string> patterns_;
  uint64_t split_bytes_ = 0;
  std::vector<FileInfo> files_;
  size_t index_ = 0;    // Of the file that the next split is of.
  uint64_t begin_ = 0;  // Within that file.
};

class TextFileReader final : public SplitReader {
 protected:
  void open_split(const std::string& payload) override {
    if (!lines_) lines_ = std::make_unique<LineReader>(context().files());
    throw_if_error(lines_->open(decode_text_range(payload)));
  }

  bool read(uint32_t max_records, RecordReceiver& to, uint64_t* count) override {
    return value_or_throw(lines_->read(max_records, to, count));
  }

  void close() override { lines_.reset(); }

 private:
  std::unique_ptr<LineReader> lines_;
};

/// So that input that cannot be read is reported at once, and not by the reader that comes to it
/// after an hour.
Status check_readable(const std::vector<std::string>& patterns, FileSystem& files) {
  ASSIGN_OR_RETURN(const auto found, expand_patterns(patterns, files));
  for (const FileInfo& file : found) {
    const auto opened = files.open(file.path);
    if (!opened.ok()) return unreadable_input(file.path, opened.status());
    if (file.size_bytes != 0) continue;
    char first = 0;
    const auto got = (*opened)->read(0, &first, 1);
    if (!got.ok() || *got == 0) continue;
    return invalid_argument(
        fmt::format("input '{}' has content but no size, as files of the kernel have: copy it to a "
                    "regular file and read that",
                    file.path));
  }
  return Status();
}

}  // namespace

Source<std::string> text_files(std::vector<std::string> patterns) {
  Source<std::string> source;
  source.name = "text files";
  source.enumerator = make_enumerator_factory(
      [patterns] { return std::make_unique<TextFileSupply>(patterns); },
      [patterns](FileSystem& files) { return check_readable(patterns, files); });
  source.reader = make_reader_factory([] { return std::make_unique<TextFileReader>(); });
  return source;
}

}  // namespace freshet
