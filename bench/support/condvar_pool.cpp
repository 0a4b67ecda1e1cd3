#include "support/condvar_pool.h"

namespace dynaflow::bench {

CondvarPool::CondvarPool(const StepGraph& graph, const StepCalls& calls)
    : graph_(graph), calls_(calls), followers_(graph.followers()), pending_(graph.steps.size()) {
  for (std::uint32_t i = 0; i < graph.lanes; ++i) lanes_.push_back(std::make_unique<Lane>());
  for (std::uint32_t i = 1; i < graph.lanes; ++i) {
    threads_.emplace_back([this, i] { serve(*lanes_[i]); });
  }
}

CondvarPool::~CondvarPool() {
  for (const auto& lane : lanes_) close(*lane);
  for (std::thread& thread : threads_) thread.join();
}

void CondvarPool::run() {
  left_ = static_cast<std::uint32_t>(graph_.steps.size());
  lanes_.front()->closed = false;
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    pending_[i].store(static_cast<std::uint32_t>(graph_.steps[i].after.size()),
                      std::memory_order_relaxed);
  }
  for (std::uint32_t i = 0; i < graph_.steps.size(); ++i) {
    if (graph_.steps[i].after.empty()) push(i);
  }
  serve(*lanes_.front());
}

void CondvarPool::push(std::uint32_t step) {
  Lane& lane = *lanes_[graph_.steps[step].lane];
  {
    const std::lock_guard lock(lane.mutex);
    lane.ready.push_back(step);
  }
  lane.changed.notify_one();
}

void CondvarPool::close(Lane& lane) {
  const std::lock_guard lock(lane.mutex);
  lane.closed = true;
  lane.changed.notify_one();
}

void CondvarPool::serve(Lane& lane) {
  std::unique_lock lock(lane.mutex);
  while (true) {
    lane.changed.wait(lock, [&] { return lane.closed || !lane.ready.empty(); });
    if (lane.ready.empty()) return;
    const std::uint32_t step = lane.ready.front();
    lane.ready.pop_front();
    lock.unlock();
    calls_.call(step);
    finish(step);
    lock.lock();
  }
}

void CondvarPool::finish(std::uint32_t step) {
  for (const std::uint32_t next : followers_[step]) {
    if (pending_[next].fetch_sub(1, std::memory_order_acq_rel) == 1) push(next);
  }
  if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) close(*lanes_.front());
}

}  // namespace dynaflow::bench
