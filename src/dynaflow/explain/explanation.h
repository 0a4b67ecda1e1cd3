#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dynaflow/timeline/timeline.h"

namespace dynaflow {

/// Time by what a step mainly uses.
struct CostTimes {
  std::int64_t compute_ns = 0;
  std::int64_t memory_ns = 0;
  std::int64_t network_ns = 0;

  [[nodiscard]] std::int64_t& of(CostClass cost);
  [[nodiscard]] std::int64_t total_ns() const { return compute_ns + memory_ns + network_ns; }

  friend bool operator==(const CostTimes&, const CostTimes&) = default;
};

/// Where the time of a run went. Every split of it is exact: a lane's parts add up to the total,
/// and so do those of the critical path.
struct Explanation {
  /// What a lane waited for: of all that its next step had to wait for, what ended last.
  struct Awaited {
    std::string op;
    LaneId lane;
    CostClass cost;
    std::int64_t ns;
  };

  /// One lane: total = busy + waited + tail + host.
  struct Lane {
    std::string name;
    CostTimes busy;            ///< by what its own steps use
    CostTimes waited;          ///< by what the awaited steps use
    std::int64_t tail_ns = 0;  ///< its own steps were done, those of other lanes were not
    std::int64_t host_ns = 0;  ///< nothing to wait for: hand-over, start and end of the run
    /// Beside the sum: a step whose waits held stood behind another one of the lane.
    std::int64_t queued_ns = 0;
    /// Of its compute and memory steps, where they are known: its thread had no core, since others
    /// had it. The threads of a network take it so.
    std::int64_t taken_ns = 0;
    std::vector<Awaited> waited_for;  ///< `waited` by op, the longest first
  };

  /// One step of the critical path: total = the gaps and lengths of all of them + Path::end_ns.
  struct PathStep {
    StepId step;
    LaneId lane;
    std::string label;
    CostClass cost;
    std::int64_t gap_ns;  ///< since the step before it ended: host time, nothing else held it back
    std::int64_t ns;
  };

  /// From the step that ended last back through whatever released each step last: the step before
  /// it on its lane, or one that it waited for. Only what is on it made the run as long as it was.
  struct Path {
    std::vector<PathStep> steps;  ///< in the order they ran
    CostTimes busy;
    std::int64_t host_ns = 0;  ///< all gaps, the end included
    std::int64_t end_ns = 0;   ///< from the last step's end to the end of the run
  };

  /// What no order of these steps can beat, each as long as it was and on the lane it was on: the
  /// busiest lane's time, or the longest chain of steps that wait for each other. A lower bound,
  /// not a promise: waits that a lane's order implies are not in a plan, so chains may be longer.
  struct Bound {
    enum class By : std::uint8_t { kLane, kWaits };

    std::int64_t ns = 0;
    By by = By::kLane;
    LaneId lane;  ///< the busiest one
  };

  std::int64_t total_ns = 0;
  std::size_t steps = 0;
  std::uint32_t microbatches = 0;
  std::vector<Lane> lanes;
  Path path;
  Bound bound;
  std::int64_t network_ns = 0;  ///< in which at least one network step ran
  std::int64_t exposed_ns = 0;  ///< of that, with no compute or memory step beside it

  /// How much of the run the bound explains, from 0 to 1.
  [[nodiscard]] double share() const;
};

/// A pure function of the timeline. Waits that it does not bear out (a step that began before what
/// it waited for had ended) count for nothing, so that the sums hold for any timeline.
[[nodiscard]] Explanation explain(const Timeline& timeline);

/// Sentences about what stands out, each derived from the numbers; what to try where there is
/// something to gain.
[[nodiscard]] std::vector<std::string> advice(const Explanation& explanation);

/// The report: path, exposed network time, bound, a line per lane, then the advice. Plain ASCII.
[[nodiscard]] std::string to_string(const Explanation& explanation);

}  // namespace dynaflow
