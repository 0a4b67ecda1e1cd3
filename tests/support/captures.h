#pragma once

#include <string>
#include <vector>

#include "import/capture/capture.h"

namespace dynaflow::capture {

/// The names of the saved Captures of real models, in order.
[[nodiscard]] std::vector<std::string> captured_models();
[[nodiscard]] std::string captured_text(const std::string& model);
[[nodiscard]] Capture captured(const std::string& model);

}  // namespace dynaflow::capture
