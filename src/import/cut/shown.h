#pragma once

#include <vector>

#include "import/capture/capture.h"
#include "import/cut/views.h"

namespace dynaflow::cut {

/// Per tensor: what the user knows it as. A linear layer's rows and columns are computed as one
/// matrix, and the model sees the layer's result in the shape it asked for: then that is it. The
/// elements and their order are the same. For all other tensors: themselves.
[[nodiscard]] std::vector<capture::TensorId> find_shown(const capture::Capture& capture,
                                                        const Views& views);

}  // namespace dynaflow::cut
