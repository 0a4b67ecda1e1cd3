#pragma once

#include <string_view>

namespace dynaflow {

/// What a trace says of itself, so that a reader knows one of ours.
inline constexpr std::string_view kTraceFormat = "dynaflow-timeline/1";

}  // namespace dynaflow
