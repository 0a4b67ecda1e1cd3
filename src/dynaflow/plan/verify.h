#pragma once

#include <vector>

#include "dynaflow/plan/happens_before.h"
#include "dynaflow/plan/plan.h"

namespace dynaflow {

/// Rules P1 and P3 on a plan that can finish (P2 is HappensBefore's finding): every pair of steps
/// whose accesses conflict is ordered, in program order, and every op runs on every micro-batch.
/// Judges the plan against the graph alone; shares nothing with make_plan.
[[nodiscard]] std::vector<Diagnostic> verify(const Graph& graph, const Plan& plan,
                                             const HappensBefore& hb);

}  // namespace dynaflow
