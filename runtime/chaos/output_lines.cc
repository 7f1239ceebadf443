#include "runtime/chaos/output_lines.h"

#include <fmt/format.h>

#include <cstring>
#include <memory>

#include "runtime/base/hash.h"

namespace freshet::chaos {

namespace {

constexpr size_t kBlockBytes = 1 << 20;
constexpr uint64_t kUnended = 0x9E3779B97F4A7C15ull;

std::string_view name_of(const FileInfo& entry) {
  const std::string_view path = entry.path;
  return path.substr(path.rfind('/') + 1);
}

Status collect(const std::string& directory, const std::string& prefix, FileSystem& files,
               OutputFiles& to) {
  ASSIGN_OR_RETURN(const std::vector<FileInfo> entries, files.list(directory));
  for (const FileInfo& entry : entries) {
    const std::string name = prefix + std::string(name_of(entry));
    if (name_of(entry).starts_with('.')) {
      to.leftovers.push_back(name);
    } else if (entry.is_special || (entry.is_directory && entry.is_link)) {
      return failed_precondition(
          fmt::format("{}: it is {}, and an output has files with lines only", entry.path,
                      entry.is_special ? "a pipe, socket or device" : "a link to a directory"));
    } else if (entry.is_directory) {
      RETURN_IF_ERROR(collect(entry.path, name + "/", files, to));
    } else {
      to.names.push_back(name);
    }
  }
  return Status();
}

/// Puts together the lines of a file from its blocks.
class LineScanner {
 public:
  explicit LineScanner(const std::function<bool(const OutputLine&)>& use) : use_(use) {}

  /// False when no more lines are wanted.
  bool take(std::string_view block) {
    while (!block.empty()) {
      const size_t end = block.find('\n');
      if (end == block.npos) {
        hold(block);
        return true;
      }
      const std::string_view rest = block.substr(0, end);
      block.remove_prefix(end + 1);
      if (!(held_bytes_ == 0 ? give(rest) : finish(rest))) return false;
    }
    return true;
  }

  void end() {
    if (held_bytes_ == 0) return;
    line_.ended = false;
    finish({});
  }

 private:
  /// What is beyond the head goes into the hash, in pieces that depend on the line alone.
  void hold(std::string_view part) {
    held_bytes_ += part.size();
    const size_t to_head = std::min(part.size(), kHeadBytesMax - head_.size());
    head_.append(part.substr(0, to_head));
    part.remove_prefix(to_head);
    while (!part.empty()) {
      const size_t count = std::min(part.size(), kHeadBytesMax - piece_.size());
      piece_.append(part.substr(0, count));
      part.remove_prefix(count);
      if (piece_.size() == kHeadBytesMax) mix_piece();
    }
  }

  void mix_piece() {
    const Hash128 piece = hash_128(piece_);
    beyond_.high = hash_combine(beyond_.high, piece.high);
    beyond_.low = hash_combine(beyond_.low, piece.low);
    piece_.clear();
  }

  bool finish(std::string_view rest) {
    hold(rest);
    if (!piece_.empty()) mix_piece();
    line_.size = held_bytes_;
    const bool more = emit(head_);
    head_.clear();
    held_bytes_ = 0;
    beyond_ = {};
    return more;
  }

  /// A line that is whole in its block.
  bool give(std::string_view line) {
    if (line.size() > kHeadBytesMax) return finish(line);
    line_.size = line.size();
    return emit(line);
  }

  bool emit(std::string_view head) {
    line_.hash = hash_128(head);
    if (line_.size > head.size()) {
      line_.hash.high = hash_combine(hash_combine(line_.hash.high, beyond_.high), line_.size);
      line_.hash.low = hash_combine(line_.hash.low, beyond_.low);
    }
    if (!line_.ended) line_.hash.high = hash_combine(line_.hash.high, kUnended);
    line_.id_hash = hash_bytes(id_of(head));
    line_.head = head;
    line_.number++;
    return use_(line_);
  }

  const std::function<bool(const OutputLine&)>& use_;
  OutputLine line_;
  std::string head_;   // Of a line that goes on in the next block.
  std::string piece_;  // Beyond its head.
  Hash128 beyond_;     // Of what is beyond its head.
  uint64_t held_bytes_ = 0;
};

}  // namespace

std::string_view id_of(std::string_view record) {
  return record.substr(0, record.find_first_of("\t, "));
}

Result<OutputFiles> list_output(const std::string& directory, FileSystem& files) {
  OutputFiles found;
  RETURN_IF_ERROR(collect(directory, "", files, found).with_context("cannot read an output"));
  return found;
}

Result<std::vector<std::string>> find_leftovers(const std::string& directory, FileSystem& files) {
  std::vector<std::string> found;
  const size_t slash = directory.rfind('/');
  const std::string parent = slash == 0 ? "/" : directory.substr(0, slash);
  const std::string beside = fmt::format(".{}.", directory.substr(slash + 1));
  for (const auto& [place, prefix] :
       {std::pair(parent, beside), std::pair(directory, std::string("."))}) {
    const auto entries = files.list(place);
    if (entries.status().code() == StatusCode::kNotFound) continue;
    if (!entries.ok()) return entries.status();
    for (const FileInfo& entry : *entries) {
      if (name_of(entry).starts_with(prefix)) found.push_back(entry.path);
    }
  }
  return found;
}

Status scan_lines(const std::string& path, FileSystem& files,
                  const std::function<bool(const OutputLine&)>& use) {
  ASSIGN_OR_RETURN(const auto file, files.open(path));
  const auto block = std::make_unique_for_overwrite<char[]>(kBlockBytes);
  LineScanner scanner(use);
  for (uint64_t offset = 0;;) {
    ASSIGN_OR_RETURN(const size_t got, file->read(offset, block.get(), kBlockBytes));
    if (got == 0) break;
    if (!scanner.take({block.get(), got})) return Status();
    offset += got;
  }
  scanner.end();
  return Status();
}

}  // namespace freshet::chaos
