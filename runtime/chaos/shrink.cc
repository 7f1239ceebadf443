#include "runtime/chaos/shrink.h"

#include <algorithm>

namespace freshet::chaos {

namespace {

constexpr Duration kShortest = 1ms;

class Shrinking {
 public:
  using Faults = std::vector<PlannedFault>;
  using Fails = std::function<bool(const Faults&)>;

  Shrinking(Faults faults, const Fails& fails, uint32_t runs_max)
      : faults_(std::move(faults)), fails_(fails), runs_left_(runs_max) {}

  Faults run() {
    if (!try_instead({})) leave_out();
    for (size_t i = 0; i < faults_.size(); ++i) {
      shorten(i, &Fault::lasts);
      shorten(i, &Fault::delay);
    }
    return std::move(faults_);
  }

 private:
  /// True when these fail, too; they are kept then.
  bool try_instead(Faults fewer) {
    if (runs_left_ == 0) return false;
    --runs_left_;
    if (!fails_(fewer)) return false;
    faults_ = std::move(fewer);
    return true;
  }

  void leave_out() {
    for (size_t size = (faults_.size() + 1) / 2; size > 0; size /= 2) {
      // Once one is out, another may be that could not before.
      while (leave_out_any(size) && size == 1) {
      }
    }
  }

  /// Each part of this size; true when one was left out.
  bool leave_out_any(size_t size) {
    bool any = false;
    for (size_t at = 0; at < faults_.size() && faults_.size() > 1;) {
      Faults fewer = faults_;
      const auto begin = fewer.begin() + static_cast<std::ptrdiff_t>(at);
      const size_t end = std::min(at + size, fewer.size());
      fewer.erase(begin, fewer.begin() + static_cast<std::ptrdiff_t>(end));
      if (!fewer.empty() && try_instead(std::move(fewer)))
        any = true;
      else
        at += size;
    }
    return any;
  }

  void shorten(size_t number, Duration Fault::*what) {
    while (faults_[number].fault.*what > kShortest) {
      Faults shorter = faults_;
      Duration& length = shorter[number].fault.*what;
      length = std::max(kShortest, length / 2 / kShortest * kShortest);
      if (!try_instead(std::move(shorter))) return;
    }
  }

  Faults faults_;
  const Fails& fails_;
  uint32_t runs_left_;
};

}  // namespace

std::vector<PlannedFault> shrink(std::vector<PlannedFault> faults,
                                 const std::function<bool(const std::vector<PlannedFault>&)>& fails,
                                 uint32_t runs_max) {
  return Shrinking(std::move(faults), fails, runs_max).run();
}

}  // namespace freshet::chaos
