#include "dynaflow/placement/placed_plan.h"

#include <utility>

#include "dynaflow/plan/verify.h"

namespace dynaflow {
PlacedPlan::PlacedPlan(std::shared_ptr<const Graph> graph, Plan plan, HappensBefore hb)
    : graph_(std::move(graph)),
      plan_(std::move(plan)),
      hb_(std::move(hb)),
      buffers_(make_buffers(*graph_, plan_, hb_)),
      verifier_(*graph_, plan_, buffers_, hb_) {}

Result<std::shared_ptr<const PlacedPlan>> PlacedPlan::make(std::shared_ptr<const Graph> graph,
                                                           Plan plan) {
  if (auto well = all_well(verify_steps(*graph, plan)); !well) return Unexpected(well.error());
  auto hb = HappensBefore::of(plan, *graph);
  if (!hb) return Unexpected(hb.error());
  if (auto well = all_well(verify(*graph, plan, *hb)); !well) return Unexpected(well.error());
  return std::shared_ptr<const PlacedPlan>(
      new PlacedPlan(std::move(graph), std::move(plan), std::move(*hb)));
}

Result<void> PlacedPlan::place(const Split& split, std::span<const std::int64_t> symbols,
                               Placement& placement) const {
  if (auto made = make_placement(*graph_, plan_, buffers_, split, symbols, placement); !made) {
    return made;
  }
  return all_well(verifier_.verify(placement));
}

}  // namespace dynaflow
