#pragma once

#include <cstdint>
#include <vector>

#include "dynaflow/graph/body.h"

namespace dynaflow::aten {

class AtenBody;

/// Where a body's intermediates are in the step's scratch memory, for one call site's sizes.
struct Scratch {
  std::int64_t bytes = 0;
  std::vector<std::int64_t> offsets;  ///< per slot; of scratch slots, and of operands that are
                                      ///< copied since no strided tensor can show them
};

/// First fit by the order of the calls; intermediates that do not live at the same time share.
[[nodiscard]] Scratch make_scratch(const AtenBody& body, const BindArgs& args);

/// Whether a view's rows lie one after the other, so that its blocks do too.
[[nodiscard]] inline bool is_dense(const View& view) {
  return view.blocks <= 1 || view.rows == 0 || view.block_stride == view.rows * view.row_stride;
}

}  // namespace dynaflow::aten
