#pragma once

#include <vector>

#include "dynaflow/plan/happens_before.h"
#include "dynaflow/plan/plan.h"

namespace dynaflow {

/// Rule P4: ids are in range, every lane lists its own steps, each once, and each step's operands
/// are those of its ops. All else that is said of a plan takes this for granted.
[[nodiscard]] std::vector<Diagnostic> verify_steps(const Graph& graph, const Plan& plan);

/// Rules P1 and P3 on a plan that can finish (P2 is HappensBefore's finding): every pair of steps
/// whose accesses conflict is ordered, in program order, and every op runs on every micro-batch.
/// Judges the plan against the graph alone; shares nothing with make_plan.
[[nodiscard]] std::vector<Diagnostic> verify(const Graph& graph, const Plan& plan,
                                             const HappensBefore& hb);

}  // namespace dynaflow
