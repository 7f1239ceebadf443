#include "shuffle/spill_place.h"

namespace freshet {

namespace {

// As long as a disk that does not stand still needs at most: then nobody has to stand in for who
// waits.
constexpr auto kUsualWait = 50ms;
constexpr auto kLookAgain = 20ms;  // Whether it is cancelled.

}  // namespace

Status SpillPlace::make_directory() const {
  for (const std::string& root : roots) RETURN_IF_ERROR(files->info(root).status());
  return files->create_directories(directory);
}

bool SpillPlace::wait_for_disk(const std::atomic<bool>* cancelled,
                               const std::function<bool(Duration longest)>& wait) const {
  if (!run_blocking) return false;
  if (wait(kUsualWait)) return true;
  run_blocking([&] {
    while (!wait(kLookAgain)) {
      if (cancelled != nullptr && cancelled->load(std::memory_order_acquire)) return;
    }
  });
  return true;
}

}  // namespace freshet
