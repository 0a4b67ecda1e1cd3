#pragma once

#include <string>
#include <string_view>

#include "import/capture/capture.h"

namespace dynaflow::capture {

/// Reads "dynaflow-capture/1". What is missing, unknown or inconsistent is C1 bad-capture, with
/// the place in the document.
[[nodiscard]] Result<Capture> from_json(std::string_view text);

/// The same document again: from_json(to_json(capture)) gives an equal Capture.
[[nodiscard]] std::string to_json(const Capture& capture);

}  // namespace dynaflow::capture
