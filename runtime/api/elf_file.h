#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"

namespace freshet {

/// The dynamic symbols of a shared object, read from its bytes before any of its code runs. 64-bit
/// little-endian ELF only.
class ElfFile {
 public:
  struct Symbol {
    std::string_view name;
    bool defined = false;
    uint64_t address = 0;
    uint64_t size = 0;
  };

  /// kInvalidArgument, saying what it is not, when `bytes` are no shared object for this machine.
  /// Views into `bytes`.
  static Result<ElfFile> parse(std::string_view bytes);

  const std::vector<Symbol>& symbols() const { return symbols_; }
  const Symbol* find_defined(std::string_view name) const;

  /// The bytes that a symbol has in the file; none when they are not all there.
  std::optional<std::string_view> data_of(const Symbol&) const;

 private:
  struct Segment {
    uint64_t address;
    uint64_t offset;
    uint64_t size;
  };

  std::string_view bytes_;
  std::vector<Segment> segments_;
  std::vector<Symbol> symbols_;
};

}  // namespace freshet
