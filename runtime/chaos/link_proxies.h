#pragma once

#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/base/thread_executor.h"
#include "runtime/chaos/link_loop.h"

namespace freshet::chaos {

/// TCP proxies before the processes of a cluster, which break links on demand. Thread-safe: they
/// have a thread of their own, and what a function changes is so when it returns.
///
/// - *cut*: connections are reset, and new ones as soon as they are accepted. A connection has two
///   ways, so one of them is enough.
/// - *half-open*: what is sent is neither read nor given on, also that a stream has ended or a
///   process is gone. Connections stay; new ones are accepted and hear nothing. Nothing is lost:
///   healed, all comes late. Like packets that are dropped and sent again.
/// - *slow*: what is sent comes later, or at a bounded rate. At most StreamPump::kHeldBytesMax are
///   under way.
/// - *flap*: cut and healed in turns, of `period` each.
class LinkProxies {
 public:
  using Options = LinkLoop::Options;
  using Broken = LinkLoop::Broken;

  static Result<std::unique_ptr<LinkProxies>> start(const Options&);
  /// Ends all connections.
  ~LinkProxies();

  /// Where others reach that process from now on. Their connections wait, not for ever, until it
  /// has a target.
  Result<Address> add(const std::string& name);
  /// Of connections that are made from now on.
  void set_target(const std::string& name, const Address&);
  /// It will have one soon: connections wait for it.
  void expect_target(const std::string& name);
  /// It is gone: connections are refused.
  void drop_target(const std::string& name);

  /// A fault of kind kCut, kHalfOpen, kSlow or kFlap, for the connections that there are and those
  /// to come, until it is healed; `lasts` is not looked at.
  Broken break_link(const Fault&);
  void heal(uint64_t number);
  void heal_all();

  std::vector<LinkCounters> counters();

 private:
  explicit LinkProxies(std::unique_ptr<Clock>);

  void serve();
  /// Runs `function` between two steps, and waits for it.
  template <class Function>
  auto call(Function function);

  std::unique_ptr<Clock> clock_;
  std::unique_ptr<LinkLoop> loop_;  // Belongs to the thread.
  std::mutex mutex_;
  std::vector<UniqueFunction<void()>> calls_;
  bool stopping_ = false;
  std::unique_ptr<ThreadExecutor> thread_;
};

}  // namespace freshet::chaos
