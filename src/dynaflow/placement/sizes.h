#pragma once

#include <span>

#include "dynaflow/placement/placement.h"

namespace dynaflow {

/// The first of two parts of make_placement: how large everything is for this split and these
/// symbols. Fills all of `placement` but offsets and arena_bytes, or says why that cannot be (R1,
/// R6, R7).
[[nodiscard]] Result<void> set_sizes(const Graph& graph, const Plan& plan, const Buffers& buffers,
                                     const Split& split, std::span<const std::int64_t> symbols,
                                     Placement& placement);

}  // namespace dynaflow
