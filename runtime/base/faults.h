#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"

namespace freshet {

/// Points in product code at which tests break things: `faults.at("deploy.before_ack")`. Handed in
/// by the composition root; does nothing by default. Thread-safe.
class Faults {
 public:
  virtual ~Faults() = default;

  /// Passes the point named `mark` (see fault_marks()). May end or stop the process, throw
  /// std::runtime_error, wait, or, in a simulation, crash the simulated process: afterwards nothing
  /// that the caller does can be seen outside.
  virtual void at(std::string_view mark) = 0;
};

struct FaultMark {
  std::string_view name;
  std::string_view meaning;
};

/// Every mark that product code passes, for --help, simulation and the check that none is left
/// unfired.
const std::vector<FaultMark>& fault_marks();

std::unique_ptr<Faults> make_no_faults();

/// From `<mark>:<n>:<kill|stop|throw|delay[=ms]>`, several separated by commas: at the n-th passing
/// (from 1) the process gets SIGKILL, SIGSTOP, an exception or a pause. The end of the object logs
/// `fault_never_fired` for each that was not passed so often: a test that waits for it would be
/// wrong.
Result<std::unique_ptr<Faults>> make_scripted_faults(const std::string& script);

}  // namespace freshet
