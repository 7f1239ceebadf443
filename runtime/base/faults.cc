#include "runtime/base/faults.h"

#include <algorithm>

namespace freshet {

namespace {

class NoFaults final : public Faults {
 public:
  void at(std::string_view) override {}
};

constexpr FaultSide kJobManager = FaultSide::kJobManager;
constexpr FaultSide kTaskManager = FaultSide::kTaskManager;

}  // namespace

// One line per mark, in the order in which a job meets them.
const std::vector<FaultMark>& fault_marks() {
  static const std::vector<FaultMark> marks = {
      {"register.before_reply", kJobManager, true,
       "a TaskManager registered, the answer is not sent yet"},
      {"blob.before_store", kTaskManager, true, "a module was fetched and is about to be written"},
      {"deploy.before_ack", kTaskManager, true,
       "a task was created, its state is not reported yet"},
      {"task.before_element", kTaskManager, true,
       "the choice of an element is logged, the element is not processed yet"},
      {"task.after_element", kTaskManager, true, "an element was processed"},
      {"task.before_end_of_data", kTaskManager, true,
       "a task reached the end of its data and has not said so yet"},
      {"commit.before_rename", kTaskManager, true,
       "a file of a finished attempt is about to be published"},
      {"commit.after_rename", kTaskManager, true,
       "a file was published, nothing is acknowledged yet"},
      {"cancel.before_ack", kTaskManager, false,
       "a task was cancelled, its state is not reported yet"},
  };
  return marks;
}

const FaultMark* find_fault_mark(std::string_view name) {
  const std::vector<FaultMark>& marks = fault_marks();
  const auto found = std::find_if(marks.begin(), marks.end(),
                                  [name](const FaultMark& mark) { return mark.name == name; });
  return found == marks.end() ? nullptr : &*found;
}

std::unique_ptr<Faults> make_no_faults() { return std::make_unique<NoFaults>(); }

}  // namespace freshet
