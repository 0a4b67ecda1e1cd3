#include "dynaflow/device/cpu/findings.h"

#include <utility>

namespace dynaflow {
namespace {

/// Where to look first: the first lane whose step does not return.
std::string place_of_stall(const Launch& work, std::span<const LaneSighting> lanes) {
  for (std::uint32_t lane = 0; lane < lanes.size(); ++lane) {
    if (lanes[lane].state == LaneState::kInsideStep) {
      return place_of(work, lane, lanes[lane].completed);
    }
  }
  return "between steps: no lane is inside one";
}

}  // namespace

Diagnostic body_failed(const Launch& work, std::uint32_t lane, std::uint32_t completed,
                       const std::exception& failure) {
  const std::uint32_t step = work.lane_steps[lane][completed];
  const auto* known = dynamic_cast<const Failure*>(&failure);
  return {known != nullptr ? known->rule() : kBodyFailed,
          work.describe(step) + " failed on lane " + work.lanes[lane].name + ": " + failure.what(),
          place_of(work, lane, completed),
          known != nullptr
              ? known->fix()
              : "correct what this step's body is given or does; the next run starts afresh"};
}

Diagnostic stalled(const Launch& work, std::chrono::milliseconds stall_after,
                   std::span<const LaneSighting> lanes) {
  return {
      kStalled,
      "no lane completed a step for " + seconds(stall_after) + "\n" + wait_for_graph(work, lanes),
      place_of_stall(work, lanes),
      "find what the step inside which a lane is waits for (a peer that is gone, a lock), or "
      "set stall_after above the longest step"};
}

Diagnostic cancelled(const Launch& work, std::uint32_t completed) {
  return {
      kCancelled, "the run was cancelled",
      "after " + std::to_string(completed) + " of " + std::to_string(work.steps.size()) + " steps",
      "run again: nothing of this run is left over"};
}

Diagnostic reentered(std::string where) {
  return {kReentry, "a launch was called from inside a launch of the same device", std::move(where),
          "launch after the step has returned, or on another device"};
}

Diagnostic lane_lost(const std::string& steps) {
  return {kLaneLost, "a stall left a step behind that has not returned: " + steps, "",
          "let that step return, then run again; or use a new device"};
}

Diagnostic thread_refused(std::string_view why) {
  return {kLaneLost, "the system gave no thread for a lane: " + std::string(why), "",
          "use fewer lanes, or raise the limit on threads (ulimit -u)"};
}

std::string place_of(const Launch& work, std::uint32_t lane, std::uint32_t completed) {
  return "lane " + work.lanes[lane].name + ", step " + std::to_string(completed + 1) + " of " +
         std::to_string(work.lane_steps[lane].size());
}

}  // namespace dynaflow
