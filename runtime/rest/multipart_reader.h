#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/status.h"

namespace freshet::rest {

/// Reads `multipart/form-data` (RFC 7578) as it comes, in memory that does not grow with it:
///
///   body      := [preamble CRLF] part* "--" boundary "--" anything
///   part      := "--" boundary CRLF header* CRLF bytes CRLF
///   header    := name ":" value CRLF
class MultipartReader {
 public:
  static constexpr size_t kHeaderBytesMax = 8 << 10;  // Of one part.
  static constexpr size_t kPartsMax = 32;

  struct Part {
    std::string name;
    std::optional<std::string> file_name;
  };
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual Status on_part(const Part&) = 0;
    /// The next bytes of that part.
    virtual Status on_bytes(std::string_view) = 0;
  };

  /// Of a Content-Type. kInvalidArgument when it is none of `multipart/form-data`.
  static Result<std::string> boundary_of(std::string_view content_type);

  MultipartReader(const std::string& boundary, Listener& listener);

  /// kInvalidArgument for what is no such body; also what the listener says. No call after that.
  Status take(std::string_view bytes);
  /// After all bytes: kInvalidArgument when the last part is not whole.
  Status end() const;

 private:
  enum class Place { kPreamble, kDelimiter, kHeaders, kBytes, kEpilogue };

  /// False when more bytes are needed.
  Result<bool> step();
  Result<bool> skip_to_delimiter();
  Result<bool> read_delimiter_end();
  Result<bool> read_headers();
  bool drop_front(size_t size);

  const std::string delimiter_;
  Listener& listener_;
  Place place_ = Place::kPreamble;
  size_t parts_ = 0;
  std::string waiting_;  // Not yet understood.
};

/// Parameters of a header's value: `form-data; name="jarfile"; filename="a.so"`. nullopt when it
/// has no such one. Quotes may hold `\"` and `\\`.
std::optional<std::string> header_parameter(std::string_view value, std::string_view name);

}  // namespace freshet::rest
