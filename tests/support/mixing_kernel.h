#pragma once

#include <memory>
#include <vector>

#include "dynaflow/graph/builder.h"
#include "support/random_graph.h"

namespace dynaflow::testing {

/// What a mixing kernel must know of its op to compute row by row, whatever the micro-batches.
struct MixingOp {
  std::size_t op = 0;  ///< its place in program order: also its seed
  std::vector<Type> in = {};
  std::vector<Type> out = {};
  std::vector<std::uint8_t> in_unplaced = {};
  std::vector<std::uint8_t> out_unplaced = {};
  std::size_t updates = 0;  ///< how many of the outs are updated in place
  std::vector<Effect> effects = {};
  bool once = false;  ///< runs once per batch: every row goes into every result
  std::shared_ptr<WorldPointer> world = {};
};

/// out[row] = a digest of everything the op may read for that row.
[[nodiscard]] Kernel mixing_kernel(MixingOp op);

}  // namespace dynaflow::testing
