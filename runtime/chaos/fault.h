#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/base/time.h"

namespace freshet::chaos {

/// What goes wrong. The names of plans, command lines and reports are those of fault_kinds().
enum class FaultKind {
  kKill,
  kPause,
  kException,
  kCrash,
  kHang,
  kCut,
  kHalfOpen,
  kSlow,
  kFlap,
  kDiskFull,
  kDiskSlow,
  kDamageFile,
  kDeleteFile,
  kMark,
};

/// To what a fault happens, and so what its plan must name.
enum class FaultSubject { kProcess, kTask, kLink, kDisk, kFile, kMark };

struct FaultKindInfo {
  FaultKind kind;
  std::string_view name;
  FaultSubject subject;
  bool lasts;  // It needs a length, and is taken back after it.
  std::string_view meaning;
};

/// All kinds, in the order of `--list`.
const std::vector<FaultKindInfo>& fault_kinds();
const FaultKindInfo& info_of(FaultKind);
/// kInvalidArgument names the kinds that there are.
Result<FaultKind> parse_fault_kind(const std::string&);

/// A process of the cluster. `taskmanager` without a number is any of them.
struct ProcessName {
  bool job_manager = false;
  uint32_t number = 0;  // Of a TaskManager, from 1; 0: any.

  bool is_any() const { return !job_manager && number == 0; }
  std::string to_string() const;
  bool operator==(const ProcessName&) const = default;
};
/// `jobmanager`, `taskmanager`, `taskmanager-2`.
Result<ProcessName> parse_process_name(const std::string&);

/// `task`, `task:VERTEX`, `task:VERTEX/SUBTASK`; what is left out is any. A vertex is its number or
/// its name.
struct TaskName {
  std::string vertex;  // Empty: any.
  std::optional<uint32_t> subtask;

  bool is_any() const { return vertex.empty() || !subtask; }
  std::string to_string() const;
  bool operator==(const TaskName&) const = default;
};
Result<TaskName> parse_task_name(const std::string&);

/// The connections between two processes: with the JobManager control, between TaskManagers data.
struct LinkName {
  ProcessName from;
  ProcessName to;
  bool both_ways = true;

  bool is_any() const { return from.is_any() || to.is_any(); }
  std::string to_string() const;
  bool operator==(const LinkName&) const = default;
};
/// `A <-> B`, or `A -> B` for what A sends.
Result<LinkName> parse_link_name(const std::string&);

/// Files of a TaskManager that can be damaged: `spill`, `module`.
enum class FileKind { kSpill, kModule };
std::string_view to_string(FileKind);
Result<FileKind> parse_file_kind(const std::string&);

/// One fault with everything that its kind needs; what it does not need is empty.
struct Fault {
  FaultKind kind = FaultKind::kKill;
  ProcessName process;  // Of kProcess, kDisk, kFile, kMark.
  TaskName task;
  LinkName link;
  FileKind file = FileKind::kSpill;
  std::string mark;               // One of fault_marks().
  uint64_t passing = 1;           // Of the mark, from 1.
  std::string mark_action;        // kill, stop, throw, delay=MILLISECONDS.
  Duration lasts{0};              // Until it is taken back.
  Duration delay{0};              // Of kSlow per buffer, of kDiskSlow per operation.
  uint64_t bytes_per_second = 0;  // Of kSlow; 0: as fast as it goes.
  Duration period{0};             // Of kFlap: as long up as down.

  /// To whom it happens, as plans name it: `taskmanager-2`, `task:1/0`, `taskmanager-1 <->
  /// jobmanager`.
  std::string target() const;
  /// `pause taskmanager-1 for 3 s`.
  std::string to_string() const;
  bool operator==(const Fault&) const = default;
};

}  // namespace freshet::chaos
