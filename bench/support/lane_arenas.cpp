#include "support/lane_arenas.h"

namespace dynaflow::bench {

LaneArenas::LaneArenas(const StepGraph& graph, const StepCalls& calls)
    : graph_(graph),
      calls_(calls),
      followers_(graph.followers()),
      threads_(tbb::global_control::max_allowed_parallelism, graph.lanes + 1),
      pending_(graph.steps.size()) {
  for (std::uint32_t i = 0; i < graph.lanes; ++i) {
    lanes_.push_back(std::make_unique<tbb::task_arena>(1, 0));
  }
}

void LaneArenas::run() {
  left_ = static_cast<std::uint32_t>(graph_.steps.size());
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    pending_[i].store(static_cast<std::uint32_t>(graph_.steps[i].after.size()),
                      std::memory_order_relaxed);
  }
  for (std::uint32_t i = 0; i < graph_.steps.size(); ++i) {
    if (graph_.steps[i].after.empty()) push(i);
  }
  for (std::uint32_t left = left_; left != 0; left = left_) left_.wait(left);
}

void LaneArenas::push(std::uint32_t step) {
  lanes_[graph_.steps[step].lane]->enqueue([this, step] {
    calls_.call(step);
    finish(step);
  });
}

void LaneArenas::finish(std::uint32_t step) {
  for (const std::uint32_t next : followers_[step]) {
    if (pending_[next].fetch_sub(1, std::memory_order_acq_rel) == 1) push(next);
  }
  if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) left_.notify_one();
}

}  // namespace dynaflow::bench
