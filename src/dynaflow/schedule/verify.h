#pragma once

#include <vector>

#include "dynaflow/schedule/schedule.h"

namespace dynaflow {

/// Rule S2: the split covers the batch, and the batch's requests do too.
[[nodiscard]] std::vector<Diagnostic> verify(const Batch& batch, const Split& split);

/// The part of S2 that needs no batch: some micro-batches, none of negative size.
[[nodiscard]] std::vector<Diagnostic> verify(const Split& split);

/// Rules S1 and S3–S10, all findings at once. Looks at the recorded steps only and decides by
/// itself what must precede what: it shares nothing with ScheduleContext.
[[nodiscard]] std::vector<Diagnostic> verify(const Graph& graph, const Schedule& schedule);

}  // namespace dynaflow
