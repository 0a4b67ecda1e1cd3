#pragma once

#include <span>
#include <vector>

#include "dynaflow/graph/graph.h"

namespace dynaflow {

/// What a chain of ops reads and writes when it runs as one: a fused kernel's operands. Storages
/// that only the chain touches are inside it and never materialise.
struct ChainBoundary {
  std::vector<Operand> operands;  ///< reads first, then writes, each by first use
  std::size_t reads = 0;
  /// A value that the chain reads but makes only a part of: such a chain cannot run as one.
  ValueId straddled = {};
};

/// `ops` in program order.
[[nodiscard]] ChainBoundary chain_boundary(const Graph& graph, std::span<const OpId> ops);

}  // namespace dynaflow
