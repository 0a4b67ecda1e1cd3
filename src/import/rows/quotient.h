#pragma once

#include <optional>

#include "dynaflow/graph/extent.h"

namespace dynaflow::rows {

/// The extent that times `divisor` is `dividend`, if there is one.
[[nodiscard]] std::optional<Extent> quotient(const Extent& dividend, const Extent& divisor);

}  // namespace dynaflow::rows
