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
      {"register.before_send", kTaskManager, false, "a TaskManager is about to register"},
      {"register.before_reply", kJobManager, true,
       "a TaskManager registered, the answer is not sent yet"},
      {"submit.before_reply", kJobManager, false,
       "a job was accepted, its client does not know it yet"},
      {"deploy.before_send", kJobManager, false,
       "it is decided which tasks a TaskManager gets, it does not know it yet"},
      {"blob.before_store", kTaskManager, true, "a module was fetched and is about to be written"},
      {"deploy.before_create", kTaskManager, true,
       "a deployment came and the job's code is there, a task is about to be made"},
      {"data.before_attach", kTaskManager, false,
       "a task is about to ask another TaskManager for its data"},
      {"data.before_accept", kTaskManager, false,
       "another TaskManager has connected, nothing is known of it yet"},
      {"deploy.before_ack", kTaskManager, true,
       "a task was created, its state is not reported yet"},
      {"task.before_element", kTaskManager, true,
       "the choice of an element is logged, the element is not processed yet"},
      {"task.after_element", kTaskManager, true, "an element was processed"},
      {"task.before_end_of_data", kTaskManager, true,
       "a task reached the end of its data and has not said so yet"},
      {"spill.before_publish", kTaskManager, true,
       "all of a blocking partition is written, its file has not its name yet"},
      {"spill.after_publish", kTaskManager, false,
       "the file of a blocking partition has its name, nobody knows it yet"},
      {"spill.before_read", kTaskManager, false,
       "a part of a blocking partition is about to be read"},
      {"loss.before_report", kTaskManager, false,
       "a task lost its data from elsewhere, the JobManager does not know it yet"},
      {"failover.before_cancel", kJobManager, false,
       "it is decided what a failure restarts, nobody was told yet"},
      {"cancel.before_ack", kTaskManager, false,
       "a task was cancelled, its state is not reported yet"},
      {"failover.before_restart", kJobManager, false,
       "all that a failure restarts has ended, nothing of it is deployed again yet"},
      {"commit.before_order", kJobManager, false,
       "a job has all its results, a TaskManager is about to be told to publish some"},
      {"commit.before_rename", kTaskManager, true,
       "a file of a finished attempt is about to be published"},
      {"commit.after_rename", kTaskManager, true,
       "a file was published, nothing is acknowledged yet"},
      {"job.before_finish", kJobManager, false,
       "all results of a job are published, nobody knows yet that it has finished"},
      {"release.before_send", kJobManager, false,
       "a job has ended, the TaskManagers do not know it yet"},
      {"release.before_ack", kTaskManager, false,
       "what a job left was removed, the JobManager does not know it yet"},
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
