#pragma once

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "support/step_graph.h"

namespace dynaflow::bench {

/// oneTBB kept to the lanes: an arena of one thread per lane, into which a step's last predecessor
/// enqueues it. The caller sleeps until all are done, so that each lane has a core.
class LaneArenas {
 public:
  LaneArenas(const StepGraph& graph, const StepCalls& calls);

  void run();

 private:
  void push(std::uint32_t step);
  void finish(std::uint32_t step);

  const StepGraph& graph_;
  const StepCalls& calls_;
  const std::vector<std::vector<std::uint32_t>> followers_;
  tbb::global_control threads_;
  std::vector<std::unique_ptr<tbb::task_arena>> lanes_;
  std::vector<std::atomic<std::uint32_t>> pending_;  ///< per step: predecessors not finished
  std::atomic<std::uint32_t> left_{0};               ///< steps not finished
};

}  // namespace dynaflow::bench
