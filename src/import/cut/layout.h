#pragma once

#include <vector>

#include "import/rows/rows.h"

namespace dynaflow::cut {

/// How a tensor that has memory of its own lies in it.
struct Layout {
  std::vector<Extent> strides;  ///< the trace's; a contiguous tensor's where the trace's has gaps
  Extent elements;              ///< per row for split tensors, else in all
  Extent blocks = 1;            ///< split tensors: how many times the batch is walked through
  enum class Fit : std::uint8_t {
    kAsTraced,
    kCopied,  ///< an input with gaps or overlaps: the run sees a contiguous copy of it
  } fit = Fit::kAsTraced;
};

[[nodiscard]] Layout layout_of(const rows::Rows& rows, capture::TensorId tensor);

/// Dimensions from the outermost in memory to the innermost.
[[nodiscard]] std::vector<std::size_t> memory_order(const capture::Capture& capture,
                                                    const capture::Tensor& tensor);

}  // namespace dynaflow::cut
