#pragma once

#include <memory>

#include "dynaflow/schedule/op_scheduler.h"
#include "support/random_graph.h"

namespace dynaflow::testing {

/// What a random strategy may do.
struct RandomStrategyOptions {
  int max_lanes = 4;
  int max_microbatches = 8;
  double merges = 0.4;
  double replacements = 0.25;
  double extra_order = 0.1;
  bool allow_empty = true;
};

/// Legal by construction, arbitrary otherwise: random splits, lanes, order, merges, fused chains
/// and added order. Pure: the same seed records the same schedule.
class RandomStrategy final : public OpScheduler {
 public:
  RandomStrategy(const Graph& graph, std::uint64_t seed, RandomStrategyOptions options = {})
      : graph_(graph), seed_(seed), options_(options) {}

  [[nodiscard]] std::string_view name() const override { return "RandomStrategy"; }
  [[nodiscard]] Split split(const Batch& batch) const override;
  void schedule(ScheduleContext& ctx) const override;

 private:
  const Graph& graph_;
  std::uint64_t seed_;
  RandomStrategyOptions options_;
};

/// A kernel that runs the chain's own kernels one after the other, with the values inside the chain
/// on its own scratch memory: what a hand-fused kernel computes.
[[nodiscard]] Replacement fuse(const Graph& graph, std::vector<OpId> ops);

}  // namespace dynaflow::testing
