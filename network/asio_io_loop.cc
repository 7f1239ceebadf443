#include "network/asio_io_loop.h"

#include <fmt/format.h>
#include <pthread.h>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>

#include "runtime/base/check.h"
#include "runtime/base/crash_handler.h"

namespace freshet {

struct IoLoop::Context {
  asio::io_context asio{1};
  // Makes Asio take its own descriptors now, not when there are none left.
  const asio::ip::tcp::socket never_opened{asio};
  asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(asio);
};

IoLoop::IoLoop(size_t index)
    : context_(std::make_unique<Context>()), thread_([this, index] { run(index); }) {}

IoLoop::~IoLoop() = default;

asio::io_context& IoLoop::context() { return context_->asio; }

bool IoLoop::post(UniqueFunction<void()> function) {
  if (on_thread()) {
    asio::post(context(), std::move(function));
    return true;
  }
  std::lock_guard lock(mutex_);
  if (stopped_) return false;
  asio::post(context(), std::move(function));
  return true;
}

uint64_t IoLoop::add(std::weak_ptr<LoopMember> member) {
  members_.emplace(next_member_, std::move(member));
  return next_member_++;
}

void IoLoop::begin_shutdown() {
  post([this] {
    shutting_down_ = true;
    const auto members = members_;
    for (const auto& [id, weak] : members) {
      if (const auto member = weak.lock()) member->on_loop_shutdown();
    }
  });
}

void IoLoop::finish_shutdown() {
  CHECK(!on_thread());
  context_->work.reset();
  thread_.join();
  thread_id_.store(std::this_thread::get_id());
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  context().restart();
  context().run();  // What was posted since the thread ended.
  thread_id_.store(std::thread::id());
}

void IoLoop::run(size_t index) {
  thread_id_.store(std::this_thread::get_id());
  begin_thread(fmt::format("net-io-{}", index));
  context().run();
}

LoopChooser::LoopChooser(size_t threads) {
  for (size_t i = 0; i < threads; ++i) loops_.push_back(std::make_shared<IoLoop>(i));
}

const std::shared_ptr<IoLoop>& LoopChooser::present_or_next() {
  for (const auto& loop : loops_) {
    if (loop->on_thread()) return loop;
  }
  return next();
}

}  // namespace freshet
