#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/file_system.h"
#include "runtime/base/ids.h"
#include "runtime/base/status.h"

namespace freshet {

/// Where one job leaves files: a directory that shows nothing, and then all of the job's result at
/// once. Its names, DIR being the directory and PARENT what it lies in:
///
///   DIR/.attempt-<n>/<job>/part-<i>          what attempt n of subtask i writes
///   DIR/part-<i>                             published
///   PARENT/.DIR.parts-<job>/                 those that are to be published, of any attempt; and
///                                            `.parts`, which says how many there will be
///   PARENT/.DIR.claim-<job>-<n>-<subtask>/   becomes DIR, with an attempt's directory in it
///   PARENT/.DIR.result-<job>/                decided to be published; becomes DIR
///   DIR/.attempt-<n>/.removed-<job>/         is being removed
///   DIR/.attempt-<n>/<job>/.removed          likewise, where no directory can be renamed
///   PARENT/.DIR.removed-<job>/               likewise; there until DIR is removed, too
///   PARENT/.DIR.emptied-<job>/               there while DIR, with nothing in it, is removed
///   PARENT/.DIR.probe-<job>/                 shows that DIR can be made; removed at once
///
/// Each step is the rename of one file or directory, which succeeds for one of those who try. So
/// the same step may be done at the same time or again by other processes, whichever of them die.
/// See "Publishing files" in DESIGN_NOTES.md.
///
/// Holds no state but names. All functions may block.
class OutputDirectory {
 public:
  /// `path` without a slash at its end.
  OutputDirectory(std::string path, const JobId& job, FileSystem& files);

  /// Refuses a directory that cannot be made, and one that exists unless nothing but attempts of
  /// this job is in it. What another job was publishing or removing when it was lost, it brings to
  /// its end first.
  Status check();

  /// Makes the directory of an attempt. Refused with kAlreadyExists when another job
  /// has files in DIR, or DIR shows any.
  Status claim(AttemptNumber, uint32_t subtask);

  /// One of `count` parts is to be published, as an attempt of its subtask left it. With the last
  /// one all are shown, and what other attempts left is removed. Done, half done or done twice, the
  /// result is the same. Ok too when there is no such part any more: has() says whether there is.
  Status publish(AttemptNumber, uint32_t index, uint32_t count);
  /// The part is published, or will be with the others.
  bool has(uint32_t index) const;

  static std::string part_name(uint32_t index);

  /// Takes back what the job has not published. Never half: what is being published at the same
  /// time appears as a whole or not at all.
  void remove_leftovers();

  /// Removes the directory of an attempt when nothing is in it, and DIR when it was the last one.
  void remove_if_empty(AttemptNumber);

  std::string attempt_directory(AttemptNumber) const;

 private:
  struct Owned {
    std::string path;
    std::string owner;  // A job, as text.
  };

  std::string beside(std::string_view purpose) const;
  std::vector<Owned> beside_for(std::string_view purpose) const;
  std::vector<Owned> attempts() const;
  Status check_can_be_made() const;
  Status refuse_what_is_visible() const;
  Status refuse_other_jobs() const;
  Status make_attempt(const std::string& directory);
  std::string collection() const;
  Status collect(const std::string& part, uint32_t index, uint32_t count);
  Result<bool> make_collection(uint32_t index, uint32_t count);
  Result<bool> is_whole(const std::string& directory, uint32_t count) const;
  Result<bool> is_there(const std::string& path) const;
  Status put_in_place(const std::string& owner);
  void remove_leftovers_of(const std::string& owner);
  void remove_attempt(const Owned&);
  void entomb(const std::string& attempt);
  void remove_but_last(const std::string& directory, std::string_view last);
  void remove_empty(const std::string& owner);
  void remove_empty_attempts();

  const std::string path_;
  const std::string parent_;  // With its slash; empty: the working directory.
  const std::string name_;
  const std::string job_;
  FileSystem& files_;
};

}  // namespace freshet
