#pragma once

#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "support/step_graph.h"

namespace dynaflow::bench {

/// Watches which thread runs each step. A step is handed off when another thread than a
/// predecessor's runs it.
class HandOffs {
 public:
  explicit HandOffs(const StepGraph& graph) : graph_(graph), threads_(graph.steps.size()) {}

  /// Calls that note their thread here.
  [[nodiscard]] StepCalls make_calls();

  /// The median of some runs.
  [[nodiscard]] double count(const std::function<void()>& run) const;

 private:
  [[nodiscard]] double count_last_run() const;

  const StepGraph& graph_;
  std::vector<std::thread::id> threads_;  ///< per step; read when the run is over
};

}  // namespace dynaflow::bench
