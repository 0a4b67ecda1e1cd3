#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "support/step_graph.h"

namespace dynaflow::bench {

/// The thread pool one would write by hand: a queue per lane under a mutex and a condition
/// variable, a counter of unfinished predecessors per step. As in DynaFlow, the caller runs the
/// first lane and the other lanes' threads persist.
class CondvarPool {
 public:
  CondvarPool(const StepGraph& graph, const StepCalls& calls);
  ~CondvarPool();
  CondvarPool(const CondvarPool&) = delete;
  CondvarPool& operator=(const CondvarPool&) = delete;

  void run();

 private:
  struct Lane {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::uint32_t> ready;  ///< guarded by mutex, like `closed`
    bool closed = false;              ///< nothing more will come
  };

  void push(std::uint32_t step);
  void close(Lane& lane);
  /// Runs what becomes ready on a lane until it is closed.
  void serve(Lane& lane);
  void finish(std::uint32_t step);

  const StepGraph& graph_;
  const StepCalls& calls_;
  const std::vector<std::vector<std::uint32_t>> followers_;
  std::vector<std::atomic<std::uint32_t>> pending_;  ///< per step: predecessors not finished
  std::atomic<std::uint32_t> left_{0};               ///< steps not finished
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<std::thread> threads_;  ///< of the lanes but the first
};

}  // namespace dynaflow::bench
