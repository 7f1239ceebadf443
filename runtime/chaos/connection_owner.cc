#include "runtime/chaos/connection_owner.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <string>
#include <system_error>

namespace freshet::chaos {

namespace {

constexpr size_t kPieceBytes = 64 << 10;
constexpr uint64_t kTableBytesMax = 16 << 20;
constexpr size_t kNumberField = 9;  // sl local remote st queues timer retransmits uid timeout inode

/// As the kernel writes it: the four bytes of the address read as one number of this machine.
std::string in_hexadecimal(const Address& address) {
  in_addr_t host = 0;
  if (inet_pton(AF_INET, address.host.c_str(), &host) != 1) return "";
  return fmt::format("{:08X}:{:04X}", host, address.port);
}

std::optional<uint64_t> number_in_row(std::string_view row) {
  size_t at = 0;
  for (size_t field = 0;; ++field) {
    at = row.find_first_not_of(' ', at);
    if (at == row.npos) return std::nullopt;
    const size_t end = std::min(row.find(' ', at), row.size());
    if (field == kNumberField) {
      uint64_t number = 0;
      const auto parsed = std::from_chars(row.data() + at, row.data() + end, number);
      if (parsed.ec != std::errc() || number == 0) return std::nullopt;  // 0: nobody has it.
      return number;
    }
    at = end;
  }
}

std::optional<uint64_t> find_socket(const ConnectionEnds& ends, FileSystem& files) {
  const auto table = files.open("/proc/self/net/tcp");
  if (!table.ok()) return std::nullopt;
  std::string text;
  std::string piece(kPieceBytes, '\0');
  for (uint64_t at = 0; at < kTableBytesMax;) {
    const auto size = (*table)->read(at, piece.data(), piece.size());
    if (!size.ok() || *size == 0) return std::nullopt;
    at += *size;
    text.append(piece, 0, *size);
    if (const auto number = socket_number(ends, text)) return number;
    text.erase(0, text.rfind('\n') + 1);  // What is left is the start of a row.
  }
  return std::nullopt;
}

bool has_socket(pid_t pid, const std::string& link) {
  std::error_code error;
  std::filesystem::directory_iterator descriptors(fmt::format("/proc/{}/fd", pid), error);
  while (!error && descriptors != std::filesystem::directory_iterator()) {
    std::error_code closed;
    if (std::filesystem::read_symlink(descriptors->path(), closed) == link) return true;
    descriptors.increment(error);
  }
  return false;
}

}  // namespace

std::optional<uint64_t> socket_number(const ConnectionEnds& ends, std::string_view text) {
  const std::string both =
      fmt::format(" {} {} ", in_hexadecimal(ends.local), in_hexadecimal(ends.remote));
  for (size_t at = text.find(both); at != text.npos; at = text.find(both, at + 1)) {
    const size_t begin = text.rfind('\n', at) + 1;  // Also of the first row: npos + 1 is 0.
    const size_t end = text.find('\n', at);
    if (end == text.npos) return std::nullopt;  // The rest of the row comes later.
    if (const auto number = number_in_row(text.substr(begin, end - begin))) return number;
  }
  return std::nullopt;
}

std::optional<pid_t> owner_of(const ConnectionEnds& ends, std::span<const pid_t> candidates,
                              FileSystem& files) {
  if (candidates.empty()) return std::nullopt;
  const auto number = find_socket(ends, files);
  if (!number) return std::nullopt;
  const std::string link = fmt::format("socket:[{}]", *number);
  for (const pid_t pid : candidates) {
    if (has_socket(pid, link)) return pid;
  }
  return std::nullopt;
}

}  // namespace freshet::chaos
