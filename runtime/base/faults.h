#pragma once

#include <memory>
#include <string_view>
#include <vector>

namespace freshet {

class RecordFaults;  // record_faults.h

/// Points in product code at which tests break things: `faults.at("deploy.before_ack")`. Handed in
/// by the composition root; does nothing by default. Thread-safe.
class Faults {
 public:
  virtual ~Faults() = default;

  /// Passes the point named `mark` (see fault_marks()). May end or stop the process, throw
  /// std::runtime_error, wait, or, in a simulation, crash the simulated process: afterwards nothing
  /// that the caller does can be seen outside.
  virtual void at(std::string_view mark) = 0;

  /// What happens to records that leave a task; null: nothing.
  virtual RecordFaults* records() { return nullptr; }
};

enum class FaultSide { kJobManager, kTaskManager };

/// The same where there may be none.
inline void pass_mark(Faults* faults, std::string_view mark) {
  if (faults != nullptr) [[unlikely]]
    faults->at(mark);
}

struct FaultMark {
  std::string_view name;
  FaultSide side;  // Whose processes pass it.
  bool throws;     // An exception there is caught, and fails what code of a job could fail, too.
  std::string_view meaning;
};

/// Every mark that product code passes, for --help, simulation and the check that none is left
/// unfired.
const std::vector<FaultMark>& fault_marks();

/// Null when there is none.
const FaultMark* find_fault_mark(std::string_view name);

std::unique_ptr<Faults> make_no_faults();

}  // namespace freshet
