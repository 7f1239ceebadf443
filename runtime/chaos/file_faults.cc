#include "runtime/chaos/file_faults.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/file_damage.h"
#include "runtime/base/random.h"

namespace freshet::chaos {

namespace {

struct Where {
  std::string_view below;  // In what comes behind the directory.
  std::string_view end;
};

Where where_of(FileKind kind) {
  return kind == FileKind::kSpill ? Where{"/partitions/", ".partition"} : Where{"/modules/", ".so"};
}

/// Directories vanish while one looks.
void add_files(FileSystem& files, const std::string& directory, const Where& where, size_t begin,
               std::vector<FileInfo>& to) {
  const auto entries = files.list(directory);
  if (!entries.ok()) return;
  for (const FileInfo& entry : *entries) {
    if (entry.is_link || entry.is_special) continue;
    if (entry.is_directory) {
      add_files(files, entry.path, where, begin, to);
    } else if (entry.path.ends_with(where.end) && entry.size_bytes > 0 &&
               entry.path.find(where.below, begin) != std::string::npos) {
      to.push_back(entry);
    }
  }
}

Status replace(FileSystem& files, const FileDamage& damage) {
  ASSIGN_OR_RETURN(std::string bytes, files.read_all(damage.path));
  if (damage.offset >= bytes.size()) return not_found(damage.path + ": has become shorter");
  if (damage.kind == FileDamage::Kind::kCut) {
    bytes.resize(damage.offset);
  } else {
    char& byte = bytes[damage.offset];
    byte = static_cast<char>(static_cast<unsigned char>(byte) ^ (1u << damage.bit));
  }
  return files.write_atomically(damage.path, bytes);
}

Status perform(FileSystem& files, FileKind kind, const FileDamage& damage) {
  if (damage.kind == FileDamage::Kind::kDelete) return files.remove(damage.path);
  if (kind == FileKind::kModule) return replace(files, damage);
  if (damage.kind == FileDamage::Kind::kCut) return cut_file(damage.path, damage.offset);
  return flip_bit(damage.path, damage.offset, damage.bit);
}

}  // namespace

std::string FileDamage::to_string() const {
  switch (kind) {
    case Kind::kFlip:
      return fmt::format("bit {} of byte {} of {} flipped ({} bytes)", bit, offset, path,
                         size_bytes);
    case Kind::kCut:
      return fmt::format("{} cut from {} to {} bytes", path, size_bytes, offset);
    case Kind::kDelete:
      return fmt::format("{} deleted ({} bytes)", path, size_bytes);
  }
  return "";
}

std::vector<FileInfo> find_files(FileSystem& files, const std::vector<std::string>& directories,
                                 FileKind kind) {
  std::vector<FileInfo> found;
  for (const std::string& directory : directories)
    add_files(files, directory, where_of(kind), directory.size(), found);
  std::sort(found.begin(), found.end(),
            [](const FileInfo& a, const FileInfo& b) { return a.path < b.path; });
  return found;
}

Result<FileDamage> damage_file(FileSystem& files, const std::vector<std::string>& directories,
                               FileKind kind, FileDamage::Kind how, uint64_t chance) {
  const std::vector<FileInfo> found = find_files(files, directories, kind);
  const auto random = make_seeded_random(chance);
  Status status = not_found(fmt::format("there is no {} file", chaos::to_string(kind)));
  const size_t first = found.empty() ? 0 : random->below(found.size());
  for (size_t i = 0; i < found.size(); ++i) {
    const FileInfo& file = found[(first + i) % found.size()];
    FileDamage damage{how, file.path, file.size_bytes, 0, 0};
    if (how != FileDamage::Kind::kDelete) damage.offset = random->below(file.size_bytes);
    if (how == FileDamage::Kind::kFlip) damage.bit = static_cast<uint32_t>(random->below(8));
    status = perform(files, kind, damage);
    if (status.ok()) return damage;
    if (status.code() != StatusCode::kNotFound) return status;  // Else it has gone meanwhile.
  }
  return status;
}

}  // namespace freshet::chaos
