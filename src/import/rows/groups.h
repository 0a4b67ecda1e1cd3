#pragma once

#include "import/rows/rows.h"

namespace dynaflow::rows {

/// Gives one group to all calls that are joined by local tensors.
void group_calls(Rows& rows);

}  // namespace dynaflow::rows
