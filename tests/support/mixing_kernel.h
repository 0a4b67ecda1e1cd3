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
/// The same as a body, which asks for scratch and throws if it is not treated as promised.
[[nodiscard]] std::shared_ptr<const Body> mixing_body(MixingOp op);

/// Runs an op's kernel or body as it stands, with scratch of its own where none is given.
void run_op(const Op& op, KernelArgs args);

}  // namespace dynaflow::testing
