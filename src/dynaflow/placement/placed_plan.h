#pragma once

#include <memory>
#include <span>

#include "dynaflow/placement/placement.h"
#include "dynaflow/placement/verify.h"

namespace dynaflow {

/// A verified plan with all that can be known of its memory before sizes are. Immutable, shared by
/// the Programs of different sizes.
class PlacedPlan {
 public:
  /// Checks the plan (P rules) and finds out which buffers may share.
  [[nodiscard]] static Result<std::shared_ptr<const PlacedPlan>> make(
      std::shared_ptr<const Graph> graph, Plan plan);

  PlacedPlan(const PlacedPlan&) = delete;
  PlacedPlan& operator=(const PlacedPlan&) = delete;
  ~PlacedPlan() = default;

  [[nodiscard]] const Graph& graph() const { return *graph_; }
  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] const HappensBefore& happens_before() const { return hb_; }
  [[nodiscard]] const Buffers& buffers() const { return buffers_; }

  /// Places for these sizes and checks the result (M rules). `placement` is reused; undefined after
  /// an error.
  [[nodiscard]] Result<void> place(const Split& split, std::span<const std::int64_t> symbols,
                                   Placement& placement) const;

 private:
  PlacedPlan(std::shared_ptr<const Graph> graph, Plan plan, HappensBefore hb);

  std::shared_ptr<const Graph> graph_;
  Plan plan_;
  HappensBefore hb_;
  Buffers buffers_;
  PlacementVerifier verifier_;
};

}  // namespace dynaflow
