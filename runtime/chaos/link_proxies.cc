#include "runtime/chaos/link_proxies.h"

#include <utility>

namespace freshet::chaos {

LinkProxies::LinkProxies(std::unique_ptr<Clock> clock) : clock_(std::move(clock)) {}

Result<std::unique_ptr<LinkProxies>> LinkProxies::start(const Options& options) {
  std::unique_ptr<LinkProxies> proxies(new LinkProxies(make_system_clock()));
  ASSIGN_OR_RETURN(proxies->loop_, LinkLoop::create(options, *proxies->clock_));
  proxies->thread_ = std::make_unique<ThreadExecutor>("chaos-links", *proxies->clock_);
  proxies->thread_->post("serve", [self = proxies.get()] { self->serve(); });
  return proxies;
}

LinkProxies::~LinkProxies() {
  if (!thread_) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  loop_->wake();
  thread_->stop();
}

void LinkProxies::serve() {
  while (true) {
    std::vector<UniqueFunction<void()>> calls;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      calls.swap(calls_);
    }
    for (auto& one : calls) one();
    loop_->step();
  }
}

template <class Function>
auto LinkProxies::call(Function function) {
  std::promise<decltype(function())> promise;
  auto result = promise.get_future();
  {
    const std::lock_guard lock(mutex_);
    calls_.push_back([&promise, &function] {
      if constexpr (std::is_void_v<decltype(function())>) {
        function();
        promise.set_value();
      } else {
        promise.set_value(function());
      }
    });
  }
  loop_->wake();
  return result.get();
}

Result<Address> LinkProxies::add(const std::string& name) {
  return call([&] { return loop_->add(name); });
}

void LinkProxies::set_target(const std::string& name, const Address& address) {
  call([&] { loop_->set_target(name, {address, true}); });
}

void LinkProxies::expect_target(const std::string& name) {
  call([&] { loop_->set_target(name, {std::nullopt, true}); });
}

void LinkProxies::drop_target(const std::string& name) {
  call([&] { loop_->set_target(name, {std::nullopt, false}); });
}

LinkProxies::Broken LinkProxies::break_link(const Fault& fault) {
  return call([&] { return loop_->break_link(fault); });
}

void LinkProxies::heal(uint64_t number) {
  call([&] { loop_->heal(number); });
}

void LinkProxies::heal_all() {
  call([&] { loop_->heal_all(); });
}

std::vector<LinkCounters> LinkProxies::counters() {
  return call([&] { return loop_->counters(); });
}

}  // namespace freshet::chaos
