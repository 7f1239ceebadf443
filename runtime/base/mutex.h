#pragma once

#include <mutex>

#include "runtime/base/thread_annotations.h"

namespace freshet {

/// A std::mutex that clang's analysis understands: members are GUARDED_BY(it), functions
/// REQUIRES(it). Thread-safe.
class CAPABILITY("mutex") Mutex {
 public:
  void lock() FRESHET_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void unlock() FRESHET_ATTRIBUTE(release_capability()) { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

/// Holds a Mutex from its construction to the end of its scope.
class FRESHET_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) FRESHET_ATTRIBUTE(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() FRESHET_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace freshet
