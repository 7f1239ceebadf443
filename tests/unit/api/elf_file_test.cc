#include "runtime/api/elf_file.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "runtime/base/file_system.h"
#include "runtime/base/random.h"

namespace freshet {
namespace {

std::string module_bytes(const std::string& name) {
  const auto files = make_local_file_system();
  return *files->read_all(std::string(FRESHET_TEST_MODULES) + "/" + name);
}

TEST(ElfFileTest, FindsDefinedAndNeededSymbols) {
  const std::string bytes = module_bytes("test_job_good.so");
  const auto file = ElfFile::parse(bytes);
  ASSERT_TRUE(file.ok()) << file.status().to_string();
  const ElfFile::Symbol* name = file->find_defined("freshet_job_name");
  ASSERT_NE(name, nullptr);
  EXPECT_EQ(file->data_of(*name), std::string_view("good", 5));
  EXPECT_EQ(file->find_defined("memcpy"), nullptr);
}

TEST(ElfFileTest, RefusesWhatIsNoSharedObject) {
  EXPECT_FALSE(ElfFile::parse("").ok());
  EXPECT_FALSE(ElfFile::parse("#!/bin/sh\necho hello\n").ok());
  EXPECT_FALSE(ElfFile::parse("\x7f"
                              "ELF")
                   .ok());
}

TEST(ElfFileTest, RefusesASecondTableOfSymbols) {
  std::string bytes = module_bytes("test_job_good.so");
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  const auto section_at = [&](uint16_t i) { return header.e_shoff + i * sizeof(Elf64_Shdr); };
  Elf64_Shdr symbols{};
  for (uint16_t i = 0; i < header.e_shnum && symbols.sh_type != SHT_DYNSYM; i++)
    std::memcpy(&symbols, bytes.data() + section_at(i), sizeof symbols);
  ASSERT_EQ(symbols.sh_type, SHT_DYNSYM);
  std::memcpy(bytes.data() + section_at(0), &symbols, sizeof symbols);
  EXPECT_EQ(ElfFile::parse(bytes).status().message(),
            "it is damaged: it has two tables of dynamic symbols");
}

TEST(ElfFileTest, SurvivesTruncationAndDamageAnywhereInItsTables) {
  const std::string bytes = module_bytes("test_job_no_entry.so");
  const auto random = make_seeded_random(1);
  for (int i = 0; i < 20'000; i++) {
    std::string damaged = bytes;
    if (random->one_in(4)) damaged.resize(random->below(damaged.size()));
    for (uint64_t k = random->below(4); k > 0 && !damaged.empty(); k--) {
      const size_t within =
          random->one_in(2) ? std::min<size_t>(64, damaged.size()) : damaged.size();
      damaged[random->below(within)] = static_cast<char>(random->next());
    }
    const auto file = ElfFile::parse(damaged);
    if (!file.ok()) continue;
    for (const ElfFile::Symbol& symbol : file->symbols()) {
      const auto data = file->data_of(symbol);
      if (data && !data->empty()) {
        EXPECT_LE(data->data() + data->size(), damaged.data() + damaged.size());
      }
    }
  }
}

}  // namespace
}  // namespace freshet
