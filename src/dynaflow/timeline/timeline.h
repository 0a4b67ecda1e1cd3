#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dynaflow/base/result.h"
#include "dynaflow/graph/graph.h"
#include "dynaflow/plan/plan.h"

namespace dynaflow {

/// When each step ran, measured or predicted: the same data, the same pictures.
struct Timeline {
  struct Span {
    static constexpr std::int64_t kUnknown = -1;

    StepId step;
    LaneId lane;
    std::string label;  ///< as in the plan: "attn.0"
    CostClass cost = CostClass::kCompute;
    std::int64_t begin_ns = 0;  ///< from the start of the run
    std::int64_t end_ns = 0;
    MicrobatchRange microbatches = {0, 1};
    std::vector<Wait> waits = {};  ///< counts are of the lane's spans, which keep its order
    /// How long the lane's own thread had a core meanwhile; unknown where time is predicted.
    std::int64_t cpu_ns = kUnknown;

    friend bool operator==(const Span&, const Span&) = default;
  };
  std::vector<std::string> lanes;
  std::vector<Span> spans;  ///< by begin, then lane
  std::int64_t total_ns = 0;

  friend bool operator==(const Timeline&, const Timeline&) = default;
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
/// What `to_chrome_trace` wrote. T1 bad-timeline for anything else, and for a run that no device
/// can have made: steps of one lane at the same time, a step before what it waits for.
[[nodiscard]] Result<Timeline> from_chrome_trace(std::string_view document);

}  // namespace dynaflow
