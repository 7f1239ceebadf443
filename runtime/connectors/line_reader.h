#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/base/file_system.h"
#include "runtime/operators/edge_type.h"

namespace freshet {

/// A byte range [begin, end) of a text file that had `size` bytes when it was found.
struct TextRange {
  std::string path;
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t size = 0;  // What was appended later is not read.
};

std::string encode_text_range(const TextRange&);
/// Throws CodecError for what is no range of a file.
TextRange decode_text_range(const std::string& payload);

/// Reads the lines that start in a range: so ranges that cover a file give every line exactly once,
/// though a line may go on beyond its range. A line ends with `\n` or `\r\n`, which are taken off,
/// or with the file.
class LineReader {
 public:
  static constexpr size_t kChunkBytes = 256 << 10;
  static constexpr uint64_t kLineBytesMax = 1ull << 30;

  explicit LineReader(FileSystem& files) : files_(files) {}

  Status open(TextRange range);

  /// Hands at most `max_lines` to `to` as std::string, adds their number to `count`, and reads at
  /// most one chunk. False when the range is done.
  Result<bool> read(uint32_t max_lines, RecordReceiver& to, uint64_t* count);

 private:
  Status fill();
  void skip_partial_line();
  const char* find_newline() const;
  /// Moves [cursor_, end) to line_.
  Status keep_partial_line(const char* end);
  void emit(RecordReceiver& to, uint64_t* count);
  /// Of the cursor, in the file.
  uint64_t offset() const {
    return chunk_end_offset_ - static_cast<uint64_t>(chunk_end_ - cursor_);
  }

  FileSystem& files_;
  TextRange range_;
  std::unique_ptr<ReadableFile> file_;
  std::unique_ptr<char[]> chunk_;
  const char* cursor_ = nullptr;  // Within the chunk.
  const char* chunk_end_ = nullptr;
  uint64_t chunk_end_offset_ = 0;  // In the file.
  bool skipping_ = false;          // Until the first line that starts in the range.
  std::string line_;               // The start of a line that spans chunks; the record.
  bool line_open_ = false;         // line_ holds such a start, perhaps an empty one.
};

}  // namespace freshet
