#pragma once

#include "import/capture/capture.h"

namespace dynaflow::capture {

/// What of two Captures differs first, such as "calls[3].arguments"; empty where they are equal.
[[nodiscard]] std::string difference(const Capture& a, const Capture& b);

}  // namespace dynaflow::capture
