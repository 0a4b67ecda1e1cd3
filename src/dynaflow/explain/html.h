#pragma once

#include <span>
#include <string>
#include <string_view>

#include "dynaflow/timeline/timeline.h"

namespace dynaflow {

/// A timeline and the name it is shown under: a strategy, a rank.
struct NamedTimeline {
  std::string name;
  Timeline timeline;
};

/// One page that shows the timelines below each other on the same time axis, each with its
/// explanation. It loads nothing from elsewhere, and names are text in it whatever they contain.
[[nodiscard]] std::string to_html(std::string_view title, std::span<const NamedTimeline> timelines);

}  // namespace dynaflow
