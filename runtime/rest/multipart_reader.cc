#include "runtime/rest/multipart_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace freshet::rest {

namespace {

constexpr size_t kBoundaryBytesMax = 70;

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Takes the value of a parameter, and what ends it, from the front of `text`.
std::string take_value(std::string_view& text) {
  std::string value;
  if (!text.starts_with('"')) {
    const size_t end = std::min(text.find(';'), text.size());
    value = trimmed(text.substr(0, end));
    text.remove_prefix(end);
    return value;
  }
  size_t at = 1;
  for (; at < text.size() && text[at] != '"'; at++) {
    const bool escaped =
        text[at] == '\\' && at + 1 < text.size() && (text[at + 1] == '"' || text[at + 1] == '\\');
    if (escaped) at++;
    value += text[at];
  }
  text.remove_prefix(std::min(at + 1, text.size()));
  text.remove_prefix(std::min(text.find(';'), text.size()));
  return value;
}

/// The value of a header; empty when there is none.
std::string_view header_value(std::string_view headers, std::string_view name) {
  while (!headers.empty()) {
    const size_t end = std::min(headers.find("\r\n"), headers.size());
    const std::string_view line = headers.substr(0, end);
    headers.remove_prefix(std::min(end + 2, headers.size()));
    const size_t colon = line.find(':');
    if (colon != line.npos && same_letters(trimmed(line.substr(0, colon)), name))
      return trimmed(line.substr(colon + 1));
  }
  return {};
}

std::string_view first_word(std::string_view value) {
  return trimmed(value.substr(0, value.find(';')));
}

}  // namespace

std::optional<std::string> header_parameter(std::string_view value, std::string_view name) {
  value.remove_prefix(std::min(value.find(';'), value.size()));
  while (value.starts_with(';')) {
    value = trimmed(value.substr(1));
    const size_t equals = value.find_first_of("=;");
    if (equals == value.npos) return std::nullopt;
    const std::string_view key = trimmed(value.substr(0, equals));
    if (value[equals] == ';') {
      value.remove_prefix(equals);
      continue;
    }
    value = trimmed(value.substr(equals + 1));
    std::string found = take_value(value);
    if (same_letters(key, name)) return found;
  }
  return std::nullopt;
}

Result<std::string> MultipartReader::boundary_of(std::string_view content_type) {
  if (!same_letters(first_word(content_type), "multipart/form-data"))
    return invalid_argument("the body must be multipart/form-data");
  const auto boundary = header_parameter(content_type, "boundary");
  if (!boundary || boundary->empty() || boundary->size() > kBoundaryBytesMax)
    return invalid_argument("multipart/form-data needs a boundary of 1 to 70 characters");
  return *boundary;
}

MultipartReader::MultipartReader(const std::string& boundary, Listener& listener)
    : delimiter_("\r\n--" + boundary), listener_(listener), waiting_("\r\n") {}

Status MultipartReader::take(std::string_view bytes) {
  waiting_ += bytes;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, step());
    if (!more) return Status();
  }
}

Status MultipartReader::end() const {
  if (place_ == Place::kEpilogue) return Status();
  return invalid_argument("the multipart/form-data ends before its last boundary");
}

bool MultipartReader::drop_front(size_t size) {
  waiting_.erase(0, size);
  return true;
}

Result<bool> MultipartReader::step() {
  switch (place_) {
    case Place::kPreamble:
    case Place::kBytes:
      return skip_to_delimiter();
    case Place::kDelimiter:
      return read_delimiter_end();
    case Place::kHeaders:
      return read_headers();
    case Place::kEpilogue:
      waiting_.clear();
      return false;
  }
  return false;
}

/// Gives out the bytes before it, those of a part.
Result<bool> MultipartReader::skip_to_delimiter() {
  const size_t at = waiting_.find(delimiter_);
  const size_t kept = delimiter_.size() - 1;  // May be its beginning.
  const size_t size = at != waiting_.npos ? at : waiting_.size() - std::min(kept, waiting_.size());
  if (place_ == Place::kBytes && size > 0)
    RETURN_IF_ERROR(listener_.on_bytes(std::string_view(waiting_).substr(0, size)));
  drop_front(size);
  if (at == waiting_.npos) return false;
  place_ = Place::kDelimiter;
  return drop_front(delimiter_.size());
}

Result<bool> MultipartReader::read_delimiter_end() {
  if (waiting_.starts_with("--")) {
    place_ = Place::kEpilogue;
    return true;
  }
  const size_t end = waiting_.find("\r\n");
  if (end == waiting_.npos && waiting_.size() < kHeaderBytesMax) return false;
  if (end == waiting_.npos || !trimmed(std::string_view(waiting_).substr(0, end)).empty())
    return invalid_argument("a boundary of the multipart/form-data does not end its line");
  if (++parts_ > kPartsMax)
    return invalid_argument(fmt::format("the body has more than {} parts", kPartsMax));
  place_ = Place::kHeaders;
  return drop_front(end);  // Headers end with an empty line, also when there are none.
}

Result<bool> MultipartReader::read_headers() {
  const size_t end = waiting_.find("\r\n\r\n");
  if (end == waiting_.npos && waiting_.size() < kHeaderBytesMax) return false;
  if (end == waiting_.npos || end > kHeaderBytesMax)
    return invalid_argument(
        fmt::format("the headers of a part are larger than {} bytes", kHeaderBytesMax));
  const std::string_view headers = std::string_view(waiting_).substr(0, end);
  const std::string_view disposition = header_value(headers, "Content-Disposition");
  const auto name = header_parameter(disposition, "name");
  if (!name || !same_letters(first_word(disposition), "form-data"))
    return invalid_argument("a part of the body has no name");
  RETURN_IF_ERROR(listener_.on_part({*name, header_parameter(disposition, "filename")}));
  place_ = Place::kBytes;
  return drop_front(end + 4);
}

}  // namespace freshet::rest
