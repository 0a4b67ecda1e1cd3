#pragma once

#include <string>

#include "import/cut/cut.h"

namespace dynaflow::cut {

/// A text that two regions share if and only if one body can execute both: the same calls with the
/// same constants on tensors of the same types, connected in the same way, with operands in the
/// same order.
[[nodiscard]] std::string structure_of(const Cut& cut, const Region& region);

}  // namespace dynaflow::cut
