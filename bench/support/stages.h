#pragma once

#include <array>
#include <string_view>

#include "dynaflow/graph/graph.h"
#include "dynaflow/schedule/op_scheduler.h"

namespace dynaflow::bench {

/// The stages from a graph and a strategy to a placement that may run, in order.
inline constexpr std::array<std::string_view, 7> kStages{
    "record",       "verify schedule", "make plan",       "verify plan",
    "make buffers", "make placement",  "verify placement"};

/// Seconds per stage.
using StageTimes = std::array<double, kStages.size()>;

/// Runs and times them one by one, as make_placed_plan and PlacedPlan do. Stops the process on a
/// finding: a plan that is refused measures nothing.
[[nodiscard]] StageTimes time_stages(const Graph& graph, const OpScheduler& scheduler,
                                     const Split& split);

}  // namespace dynaflow::bench
