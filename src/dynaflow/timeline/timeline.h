#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dynaflow/graph/graph.h"
#include "dynaflow/plan/plan.h"

namespace dynaflow {

/// When each step ran, measured or predicted: the same data, the same pictures.
struct Timeline {
  struct Span {
    StepId step;
    LaneId lane;
    std::string label;  ///< as in the plan: "attn.0"
    CostClass cost = CostClass::kCompute;
    std::int64_t begin_ns = 0;  ///< from the start of the run
    std::int64_t end_ns = 0;
  };
  std::vector<std::string> lanes;
  std::vector<Span> spans;  ///< by begin, then lane
  std::int64_t total_ns = 0;
};

/// How long at least two lanes were busy at the same time, and one lane's busy time.
[[nodiscard]] std::int64_t overlapped_ns(const Timeline& timeline);
[[nodiscard]] std::int64_t busy_ns(const Timeline& timeline, LaneId lane);

/// Bars per lane, `width` characters for the whole run (16 at least), with each lane's busy share.
/// Steps too short for a bar of three characters are shaded by how much of a character they fill:
/// ' ' none, '.' under a third, ':' under two, '#' more. Plain ASCII.
[[nodiscard]] std::string to_string(const Timeline& timeline, int width = 72);

/// The Chrome trace-event JSON that Perfetto and chrome://tracing open.
[[nodiscard]] std::string to_chrome_trace(const Timeline& timeline);

}  // namespace dynaflow
