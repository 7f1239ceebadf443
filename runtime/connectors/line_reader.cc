#include "runtime/connectors/line_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace freshet {

std::string encode_text_range(const TextRange& range) {
  Encoder encoder;
  encoder.write_string(range.path);
  encoder.write_varint(range.begin);
  encoder.write_varint(range.end);
  encoder.write_varint(range.size);
  return std::string(encoder.bytes());
}

TextRange decode_text_range(const std::string& payload) {
  Decoder decoder(payload);
  TextRange range;
  range.path = decoder.read_string();
  range.begin = decoder.read_varint();
  range.end = decoder.read_varint();
  range.size = decoder.read_varint();
  if (decoder.remaining() != 0 || range.begin > range.end || range.end > range.size)
    throw CodecError("a split is no range of a file");
  return range;
}

Status LineReader::open(TextRange range) {
  range_ = std::move(range);
  auto file = files_.open(range_.path);
  if (!file.ok()) {
    return Status(file.status().code(),
                  fmt::format("input '{}' was found when the job started but cannot be opened: {}; "
                              "input must stay as it is while the job runs",
                              range_.path, file.status().message()));
  }
  file_ = std::move(*file);
  if (!chunk_) chunk_ = std::make_unique_for_overwrite<char[]>(kChunkBytes);
  cursor_ = chunk_end_ = chunk_.get();
  // A line starts at `begin` when the byte before it ends another one.
  skipping_ = range_.begin > 0;
  chunk_end_offset_ = skipping_ ? range_.begin - 1 : 0;
  line_open_ = false;
  return Status();
}

Status LineReader::fill() {
  const size_t wanted = static_cast<size_t>(
      std::min<uint64_t>(kChunkBytes, range_.size - std::min(range_.size, chunk_end_offset_)));
  ASSIGN_OR_RETURN(const size_t got, file_->read(chunk_end_offset_, chunk_.get(), wanted));
  if (got < wanted) {
    return data_loss(
        fmt::format("input '{}' shrank from {} to {} bytes; "
                    "input must stay as it is while the job runs",
                    range_.path, range_.size, chunk_end_offset_ + got));
  }
  cursor_ = chunk_.get();
  chunk_end_ = cursor_ + got;
  chunk_end_offset_ += got;
  return Status();
}

void LineReader::skip_partial_line() {
  const char* newline = find_newline();
  cursor_ = newline == nullptr ? chunk_end_ : newline + 1;
  skipping_ = newline == nullptr;
}

const char* LineReader::find_newline() const {
  return static_cast<const char*>(
      std::memchr(cursor_, '\n', static_cast<size_t>(chunk_end_ - cursor_)));
}

Status LineReader::keep_partial_line(const char* end) {
  const auto size = static_cast<size_t>(end - cursor_);
  if (!line_open_) line_.clear();
  if (line_.size() + size > kLineBytesMax) {
    return resource_exhausted(
        fmt::format("input '{}': the line that ends after byte {} is longer than {} bytes",
                    range_.path, offset(), kLineBytesMax));
  }
  line_.append(cursor_, size);
  line_open_ = true;
  cursor_ = end;
  return Status();
}

void LineReader::emit(RecordReceiver& to, uint64_t* count) {
  line_open_ = false;
  ++*count;
  to.receive(&line_, kNoTimestamp);
}

Result<bool> LineReader::read(uint32_t max_lines, RecordReceiver& to, uint64_t* count) {
  bool filled = false;
  for (uint32_t lines = 0; lines < max_lines;) {
    if (!line_open_ && offset() >= range_.end) return false;
    if (cursor_ == chunk_end_) {
      if (chunk_end_offset_ >= range_.size) {
        if (line_open_) emit(to, count);
        return false;
      }
      if (filled) return true;
      RETURN_IF_ERROR(fill());
      filled = true;
    }
    if (skipping_) {
      skip_partial_line();
      continue;
    }
    const char* newline = find_newline();
    if (newline == nullptr) {
      RETURN_IF_ERROR(keep_partial_line(chunk_end_));
      continue;
    }
    if (line_open_) {
      RETURN_IF_ERROR(keep_partial_line(newline));
    } else {
      line_.assign(cursor_, newline);
    }
    if (line_.ends_with('\r')) line_.pop_back();
    cursor_ = newline + 1;
    emit(to, count);
    lines++;
  }
  return true;
}

}  // namespace freshet
