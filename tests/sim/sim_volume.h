#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/memory_file_system.h"
#include "runtime/base/random.h"
#include "tests/sim/sim_event_queue.h"

namespace freshet::sim {

struct SimHost;

/// What may be refused.
enum class FileOperation { kCreate, kAppend, kSync, kRename };  // Of directories: kCreate.

/// A disk of one host, or a file server that all hosts see: files that outlive processes, and what
/// can go wrong with them. Processes come to it through their SimFileSystem.
class SimVolume {
 public:
  enum class Names {
    kDurable,  // As of a file server: what it has answered it knows.
    kLate,     // As of a disk with a journal: a crash takes back changes since the last rename.
  };

  SimVolume(SimEventQueue& queue, Names names) : queue_(queue), names_(names) {}
  SimVolume(const SimVolume&) = delete;
  SimVolume& operator=(const SimVolume&) = delete;

  MemoryFileSystem& files() { return files_; }

  /// For so long nothing fits: of what is appended a part by chance is written, and everything else
  /// fails that would need space, be it a name. Removing works.
  void fill(Duration duration);

  /// The next `times` operations of this kind on paths that contain `path_part` answer an I/O
  /// error; 0: none any more.
  void refuse(FileOperation, const std::string& path_part, uint64_t times);

  /// From now on sync() promises and does nothing: a mutant, for whoever forgets to call it.
  void forget_syncs() { forgets_syncs_ = true; }

  /// A host crashed: of what its processes wrote and did not sync a prefix by chance is left. Where
  /// names are late, files and directories made and removed since the last rename are as they were
  /// at some moment of the last seconds, as after the replay of a journal.
  void tear(const SimHost& host);

  /// How many operations failed because of fill() or refuse().
  uint64_t refusals() const { return refusals_; }
  /// How many files the crashes of hosts shortened, and how often they took back names.
  uint64_t torn() const { return torn_; }

 private:
  friend class SimFileSystem;

  /// What is known of a file beside its content. It stays with the file when that is renamed.
  struct Extent {
    const SimHost* writer = nullptr;
    uint64_t written_bytes = 0;
    uint64_t synced_bytes = 0;
  };
  /// All names at one moment.
  struct Directory {
    TimePoint until{};  // The next change; the last one has none.
    std::map<std::string, std::string> contents;
    std::map<std::string, std::shared_ptr<Extent>> extents;
    std::vector<std::string> directories;
  };
  struct Refusal {
    FileOperation operation;
    std::string path_part;
    uint64_t times;
  };

  Status admit(FileOperation, const std::string& path);
  std::shared_ptr<Extent> created(const SimHost& by, const std::string& path);
  Status rename(const std::string& from, const std::string& to);
  /// After every change of a name.
  void names_changed();
  Status changed(Status done) {
    names_changed();
    return done;
  }
  bool is_full() const { return queue_.now() < full_until_; }
  void move_extents_below(const std::string& from, const std::string& to);
  void add_directories(const std::string& below, std::vector<std::string>& to);
  void take_back_names();

  SimEventQueue& queue_;
  const Names names_;
  MemoryFileSystem files_;
  std::map<std::string, std::shared_ptr<Extent>> extents_;
  std::deque<Directory> history_;  // Where names are late: of the last seconds, the newest last.
  std::vector<Refusal> refusals_to_come_;
  TimePoint full_until_{};
  bool forgets_syncs_ = false;
  uint64_t refusals_ = 0;
  uint64_t torn_ = 0;
};

}  // namespace freshet::sim
