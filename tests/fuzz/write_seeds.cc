// Writes what each target begins with: write_seeds DIRECTORY makes DIRECTORY/<target>/seed-<n>.
#include <cstdio>
#include <string>

#include "runtime/base/file_system.h"
#include "tests/fuzz/targets.h"

int main(int argc, char** argv) {
  using namespace freshet;
  if (argc != 2) {
    std::fprintf(stderr, "write_seeds DIRECTORY\n");
    return 2;
  }
  fuzz::log_nothing();
  const auto files = make_local_file_system();
  for (const fuzz::Target& target : fuzz::targets()) {
    const std::string directory = std::string(argv[1]) + "/" + target.name;
    Status status = files->create_directories(directory);
    size_t index = 0;
    for (const std::string& seed : target.seeds()) {
      if (!status.ok()) break;
      status = files->write_atomically(directory + "/seed-" + std::to_string(index++), seed);
    }
    if (!status.ok()) {
      std::fprintf(stderr, "write_seeds: %s\n", status.message().c_str());
      return 1;
    }
  }
  return 0;
}
