#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/un.h>

#include <charconv>

#include "network/transport.h"

namespace freshet {

namespace {

constexpr size_t kHostBytesMax = 255;
constexpr std::string_view kUnixPrefix = "unix:";
constexpr size_t kUnixNameBytesMax = sizeof(sockaddr_un::sun_path) - 1;

bool is_ipv6(const std::string& host) {
  in6_addr parsed;
  return inet_pton(AF_INET6, host.c_str(), &parsed) == 1;
}

bool is_host_name(std::string_view host) {
  for (const char c : host) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool digit = c >= '0' && c <= '9';
    if (!letter && !digit && c != '-' && c != '.' && c != '_') return false;
  }
  return !host.empty() && host.size() <= kHostBytesMax && host.front() != '-';
}

Status bad_address(std::string_view text, std::string_view why) {
  return invalid_argument(fmt::format(
      "'{}' is not an address: {}; expected host:port, such as 127.0.0.1:6123 or [::1]:6123", text,
      why));
}

/// `name` begins with / or @.
Result<Address> unix_address(std::string_view name) {
  const auto bad = [&](std::string_view why) {
    return invalid_argument(fmt::format("'{}{}' is no Unix socket: {}", kUnixPrefix, name, why));
  };
  if (name.size() == 1) return bad("its name is empty");
  if (name.find('\0') != std::string_view::npos) return bad("its name contains a zero byte");
  if (name.size() > kUnixNameBytesMax) {
    return bad(
        fmt::format("its name has {} bytes, and at most {} are possible; take a shorter path",
                    name.size(), kUnixNameBytesMax));
  }
  Address address;
  address.unix_socket = name;
  return address;
}

}  // namespace

std::string Address::to_string() const {
  if (is_unix()) return fmt::format("{}{}", kUnixPrefix, unix_socket);
  const bool brackets = host.find(':') != std::string::npos;
  return brackets ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

bool Address::is_loopback() const {
  if (is_unix() || host == "localhost") return true;
  in_addr v4;
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6;
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

bool Address::is_wildcard() const {
  in_addr v4;
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return v4.s_addr == INADDR_ANY;
  in6_addr v6;
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_UNSPECIFIED(&v6);
}

Result<Address> Address::parse(std::string_view text) {
  if (text.starts_with("unix:/") || text.starts_with("unix:@"))
    return unix_address(text.substr(kUnixPrefix.size()));
  Address address;
  std::string_view port;
  if (!text.empty() && text.front() == '[') {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) return bad_address(text, "']' is missing");
    address.host = text.substr(1, end - 1);
    if (!is_ipv6(address.host)) return bad_address(text, "no IPv6 address is between the brackets");
    if (end + 1 >= text.size() || text[end + 1] != ':')
      return bad_address(text, "the port is missing");
    port = text.substr(end + 2);
  } else {
    const size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) return bad_address(text, "the port is missing");
    if (text.find(':') != colon) return bad_address(text, "an IPv6 address needs brackets");
    address.host = text.substr(0, colon);
    if (!is_host_name(address.host))
      return bad_address(text, "the host is empty or not a host name");
    port = text.substr(colon + 1);
  }
  uint16_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (port.empty() || error != std::errc() || end != port.data() + port.size()) {
    return bad_address(text, "the port is not a number from 0 to 65535");
  }
  address.port = number;
  return address;
}

}  // namespace freshet
