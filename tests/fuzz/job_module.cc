#include <elf.h>

#include <cstring>

#include "runtime/api/abi.h"
#include "runtime/api/dl_module_loader.h"
#include "runtime/api/elf_file.h"
#include "runtime/base/check.h"
#include "runtime/base/memory_file_system.h"
#include "tests/fuzz/targets.h"

namespace freshet::fuzz {

namespace {

constexpr const char* kPath = "/fuzz/no-such-directory/module.so";

}  // namespace

/// input := a file that somebody uploaded as a module. Nothing of it is executed: its path is not
/// there for the system's loader.
void job_module(std::string_view bytes) {
  const auto file = ElfFile::parse(bytes);
  if (file.ok()) {
    for (const ElfFile::Symbol& symbol : file->symbols()) {
      const auto data = file->data_of(symbol);
      if (!data || data->empty()) continue;
      CHECK(data->data() >= bytes.data() &&
            data->data() + data->size() <= bytes.data() + bytes.size());
      CHECK(data->size() == symbol.size);
    }
    CHECK(file->symbols().size() <= bytes.size() / sizeof(Elf64_Sym));
  }
  MemoryFileSystem files;
  files.put(kPath, std::string(bytes));
  DlModuleLoader loader(files);
  const auto module = loader.load(kPath);
  CHECK(!module.ok() && module.status().code() == StatusCode::kInvalidArgument);
  CHECK(module.status().message().find(kPath) != std::string::npos);
}

namespace {

template <class T>
void put(std::string& file, size_t at, const T& value) {
  if (file.size() < at + sizeof(T)) file.resize(at + sizeof(T));
  std::memcpy(file.data() + at, &value, sizeof(T));
}

/// The least that has the tables of a module: one loaded segment, its symbols and their names.
std::string small_module(const std::vector<std::string>& names, std::string_view stamp) {
  constexpr size_t kSegment = sizeof(Elf64_Ehdr);
  constexpr size_t kSections = kSegment + sizeof(Elf64_Phdr);
  constexpr size_t kData = kSections + 3 * sizeof(Elf64_Shdr);
  std::string file;
  std::string strings(1, '\0');
  const size_t stamp_at = kData;
  file.resize(kData);
  file += stamp;
  file.resize((file.size() + 8) / 8 * 8);
  const size_t symbols_at = file.size();
  put(file, symbols_at, Elf64_Sym{});
  for (const std::string& name : names) {
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<Elf64_Word>(strings.size());
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
    symbol.st_shndx = 1;
    symbol.st_value = stamp_at;
    symbol.st_size = stamp.size();
    put(file, file.size(), symbol);
    strings += name + '\0';
  }
  const size_t strings_at = file.size();
  file += strings;
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
#if defined(__x86_64__)
  header.e_machine = EM_X86_64;
#else
  header.e_machine = EM_AARCH64;
#endif
  header.e_phoff = kSegment;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  header.e_shoff = kSections;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  put(file, 0, header);
  Elf64_Phdr segment{};
  segment.p_type = PT_LOAD;
  segment.p_filesz = segment.p_memsz = file.size();
  put(file, kSegment, segment);
  Elf64_Shdr symbols{};
  symbols.sh_type = SHT_DYNSYM;
  symbols.sh_offset = symbols_at;
  symbols.sh_size = strings_at - symbols_at;
  symbols.sh_entsize = sizeof(Elf64_Sym);
  symbols.sh_link = 2;
  put(file, kSections + sizeof(Elf64_Shdr), symbols);
  Elf64_Shdr text{};
  text.sh_type = SHT_STRTAB;
  text.sh_offset = strings_at;
  text.sh_size = strings.size();
  put(file, kSections + 2 * sizeof(Elf64_Shdr), text);
  return file;
}

}  // namespace

Seeds job_module_seeds() {
  const std::vector<std::string> names = {"freshet_build_job", "freshet_job_name",
                                          "freshet_abi_stamp"};
  std::vector<std::string> full = names;
  full.push_back("_ZN6google8protobuf8internal14AddDescriptorsEPKv");
  return {small_module(names, library_abi_stamp()), small_module(names, "another"),
          small_module(full, library_abi_stamp()), small_module({"main"}, "x"), "#!/bin/sh\n"};
}

}  // namespace freshet::fuzz
