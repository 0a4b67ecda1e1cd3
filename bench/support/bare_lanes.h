#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "support/step_graph.h"

namespace dynaflow::bench {

/// What the hardware allows: two threads take turns at a chain through one atomic number, each
/// spinning until it is its turn. No runtime that hands every step over can be faster.
class BareLanes {
 public:
  explicit BareLanes(const StepCalls& calls);
  ~BareLanes();
  BareLanes(const BareLanes&) = delete;
  BareLanes& operator=(const BareLanes&) = delete;

  void run();

 private:
  static constexpr std::uint32_t kQuit = UINT32_MAX;

  void serve();
  void take_turns(std::uint32_t lane);

  const StepCalls& calls_;
  alignas(64) std::atomic<std::uint32_t> runs_{0};  ///< started so far; kQuit: no more
  alignas(64) std::atomic<std::uint32_t> turn_{0};  ///< the step to run next
  std::thread other_;
};

}  // namespace dynaflow::bench
