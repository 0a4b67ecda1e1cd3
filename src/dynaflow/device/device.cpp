#include "dynaflow/device/device.h"

namespace dynaflow {

void Launch::mark_awaited() {
  for (LaunchStep& step : steps) step.awaited = Awaited::kNo;
  for (const Wait& wait : waits) {
    const std::vector<std::uint32_t>& of_lane = lane_steps[wait.lane];
    if (wait.count == 0 || wait.count > of_lane.size()) continue;  // holds at once, or never
    steps[of_lane[wait.count - 1]].awaited = Awaited::kYes;
  }
}

}  // namespace dynaflow
