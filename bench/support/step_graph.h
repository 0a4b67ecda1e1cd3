#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "dynaflow/graph/kernel.h"

namespace dynaflow::bench {

/// What every contender of the dispatch benchmark runs: steps on lanes, and which steps each must
/// follow. Steps stand after those they follow.
struct StepGraph {
  struct Step {
    std::uint32_t lane = 0;
    std::vector<std::uint32_t> after;
  };

  std::string name;
  std::uint32_t lanes = 1;
  std::vector<Step> steps;

  /// Per step, those that follow it.
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> followers() const;

  /// How many steps follow a step of another lane.
  [[nodiscard]] std::uint32_t hand_offs() const;
  /// Whether every step but the first does.
  [[nodiscard]] bool hands_over_always() const { return hand_offs() + 1 == steps.size(); }
};

/// Each step after the one before it, all on one lane.
[[nodiscard]] StepGraph make_chain(std::uint32_t steps);
/// The same chain, alternating between two lanes: every step is a hand-off.
[[nodiscard]] StepGraph make_alternating_chain(std::uint32_t steps);
/// A chain on each of two lanes; every `meeting`-th step also follows the other chain.
[[nodiscard]] StepGraph make_meeting_chains(std::uint32_t steps, std::uint32_t meeting);

/// The kernels of a StepGraph: boxed calls, each with arguments of its own.
class StepCalls {
 public:
  StepCalls(const StepGraph& graph, const std::function<Kernel(std::uint32_t step)>& kernel_of);

  void call(std::uint32_t step) const { kernels_[step](args_[step]); }
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(args_.size()); }
  [[nodiscard]] const Kernel& kernel(std::uint32_t step) const { return kernels_[step]; }

 private:
  std::vector<std::vector<View>> views_;
  std::vector<KernelArgs> args_;
  std::vector<Kernel> kernels_;
};

/// Calls that do nothing.
[[nodiscard]] StepCalls make_empty_calls(const StepGraph& graph);

}  // namespace dynaflow::bench
