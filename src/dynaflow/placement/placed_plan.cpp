#include "dynaflow/placement/placed_plan.h"

#include <utility>

#include "dynaflow/plan/verify.h"

namespace dynaflow {
namespace {

/// Whether all buffers together stay far from overflow, whatever is placed beside what.
bool fits(const Graph& graph, const Buffers& buffers, const Split& split) {
  constexpr double kMostBytes = 4e18;
  double rows = 0;
  for (const std::int64_t size : split.sizes) rows += static_cast<double>(size);
  double bytes = 0;
  for (const Buffer& buffer : buffers.items) {
    bytes += (rows + 1) * static_cast<double>(graph.storage(buffer.storage).row_bytes) +
             static_cast<double>(Placement::kAlignment);
  }
  return bytes < kMostBytes;
}

}  // namespace

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

Result<void> PlacedPlan::place(const Split& split, Placement& placement) const {
  if (!fits(*graph_, buffers_, split)) {
    return Unexpected(Error(Diagnostic{
        kOutOfMemory, "the split " + to_string(split) + " needs more bytes than can be counted",
        "placement", "use a batch that fits into memory"}));
  }
  make_placement(*graph_, plan_, buffers_, split, placement);
  return all_well(verifier_.verify(placement));
}

}  // namespace dynaflow
