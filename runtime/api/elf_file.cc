#include "runtime/api/elf_file.h"

#include <elf.h>

#include <cstring>
#include <utility>

namespace freshet {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#else
#error "job modules are known on x86-64 and AArch64 only"
#endif

/// False when the structure does not lie inside `bytes`.
template <class T>
bool read_at(std::string_view bytes, uint64_t offset, T& to) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return false;
  std::memcpy(&to, bytes.data() + offset, sizeof(T));
  return true;
}

bool slice(std::string_view bytes, uint64_t offset, uint64_t size, std::string_view& to) {
  if (offset > bytes.size() || bytes.size() - offset < size) return false;
  to = bytes.substr(offset, size);
  return true;
}

/// Entry `index` of a table of headers; false also when offsets overflow.
template <class T>
bool read_entry(std::string_view bytes, uint64_t table, uint64_t entry_size, uint64_t index,
                T& to) {
  if (entry_size < sizeof(T) || table > bytes.size()) return false;
  return read_at(bytes, table + index * entry_size, to);
}

std::string_view text_at(std::string_view strings, uint64_t offset) {
  if (offset >= strings.size()) return {};
  const std::string_view rest = strings.substr(offset);
  return rest.substr(0, rest.find('\0'));
}

Status damaged() { return invalid_argument("it is damaged: its tables lie outside the file"); }

Status check_header(std::string_view bytes, Elf64_Ehdr& header) {
  if (!read_at(bytes, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return invalid_argument("it is not a shared object (no ELF header)");
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != kMachine) {
    return invalid_argument("it is built for another kind of machine");
  }
  if (header.e_type != ET_DYN) {
    return invalid_argument("it is not a shared object (but an object file or program)");
  }
  return Status();
}

}  // namespace

Result<ElfFile> ElfFile::parse(std::string_view bytes) {
  Elf64_Ehdr header;
  RETURN_IF_ERROR(check_header(bytes, header));
  ElfFile file;
  file.bytes_ = bytes;
  for (uint16_t i = 0; i < header.e_phnum; i++) {
    Elf64_Phdr segment;
    if (!read_entry(bytes, header.e_phoff, header.e_phentsize, i, segment)) return damaged();
    if (segment.p_type != PT_LOAD) continue;
    file.segments_.push_back({segment.p_vaddr, segment.p_offset, segment.p_filesz});
  }
  bool has_symbols = false;
  for (uint16_t i = 0; i < header.e_shnum; i++) {
    Elf64_Shdr section;
    if (!read_entry(bytes, header.e_shoff, header.e_shentsize, i, section)) return damaged();
    if (section.sh_type != SHT_DYNSYM) continue;
    // Sections may overlap: many of them would make many symbols of few bytes.
    if (std::exchange(has_symbols, true))
      return invalid_argument("it is damaged: it has two tables of dynamic symbols");
    Elf64_Shdr text_section;
    std::string_view table, strings;
    if (!read_entry(bytes, header.e_shoff, header.e_shentsize, section.sh_link, text_section) ||
        !slice(bytes, section.sh_offset, section.sh_size, table) ||
        !slice(bytes, text_section.sh_offset, text_section.sh_size, strings)) {
      return damaged();
    }
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.size(); at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, table.data() + at, sizeof(symbol));
      file.symbols_.push_back({text_at(strings, symbol.st_name), symbol.st_shndx != SHN_UNDEF,
                               symbol.st_value, symbol.st_size});
    }
  }
  return file;
}

const ElfFile::Symbol* ElfFile::find_defined(std::string_view name) const {
  for (const Symbol& symbol : symbols_) {
    if (symbol.defined && symbol.name == name) return &symbol;
  }
  return nullptr;
}

std::optional<std::string_view> ElfFile::data_of(const Symbol& symbol) const {
  for (const Segment& segment : segments_) {
    if (symbol.address < segment.address) continue;
    const uint64_t into = symbol.address - segment.address;
    if (into > segment.size || segment.size - into < symbol.size) continue;
    std::string_view data;
    if (segment.offset <= bytes_.size() &&
        slice(bytes_, segment.offset + into, symbol.size, data)) {
      return data;
    }
  }
  return std::nullopt;
}

}  // namespace freshet
