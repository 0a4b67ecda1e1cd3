#pragma once

#include <span>

#include "import/rows/table.h"

namespace dynaflow::rows {

/// Element by element, after broadcasting.
[[nodiscard]] std::span<const Entry> pointwise_rows();
/// Everything else, by theme.
[[nodiscard]] std::span<const Entry> other_rows();

/// Whether the family also says how a result gets rows when no argument has any.
[[nodiscard]] bool makes_rows(Family family);

}  // namespace dynaflow::rows
