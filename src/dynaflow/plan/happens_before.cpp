#include "dynaflow/plan/happens_before.h"

#include <algorithm>

namespace dynaflow {
namespace {

/// Which lane waits for which, for a plan that is stuck after `done` steps per lane.
std::string stuck_lanes(const Plan& plan, const Graph& graph,
                        const std::vector<std::uint32_t>& done) {
  std::string text;
  for (std::size_t lane = 0; lane < plan.lanes.size(); ++lane) {
    if (done[lane] == plan.lane_steps[lane].size()) continue;
    const Step& step = plan.steps[plan.lane_steps[lane][done[lane]].index];
    for (const Wait& wait : plan.waits(step)) {
      if (wait.lane < done.size() && done[wait.lane] >= wait.count) continue;
      text += (text.empty() ? "" : "; ") + label(graph, plan, step) + " on lane " +
              plan.lanes[lane].name + " waits for ";
      text += wait.lane < done.size() && wait.count <= plan.lane_steps[wait.lane].size()
                  ? label(graph, plan, plan.steps[plan.lane_steps[wait.lane][wait.count - 1].index])
                  : std::string("a step that is not there");
    }
  }
  return text;
}

StepId step_on_no_lane(const Plan& plan) {
  std::vector<std::uint8_t> listed(plan.steps.size(), 0);
  for (const auto& steps : plan.lane_steps) {
    for (const StepId step : steps) listed[step.index] = 1;
  }
  const auto at = std::ranges::find(listed, 0);
  return at == listed.end() ? StepId{}
                            : id_at<StepId>(static_cast<std::size_t>(at - listed.begin()));
}

}  // namespace

bool HappensBefore::before(StepId earlier, StepId later) const {
  return known_at(later)[lane_of_[earlier.index]] > position_[earlier.index];
}

Result<HappensBefore> HappensBefore::of(const Plan& plan, const Graph& graph) {
  HappensBefore hb;
  const std::size_t lanes = hb.lanes_ = plan.lanes.size();
  hb.known_.resize(plan.steps.size() * lanes);
  hb.lane_of_.resize(plan.steps.size());
  hb.position_.resize(plan.steps.size());
  hb.order_.reserve(plan.steps.size());
  std::vector<std::uint32_t> done(lanes, 0);
  const auto merge_from = [&](StepId from, std::span<std::uint32_t> clock) {
    for (std::size_t i = 0; i < lanes; ++i) {
      clock[i] = std::max(clock[i], hb.known_[from.index * lanes + i]);
    }
    std::uint32_t& own = clock[hb.lane_of_[from.index]];
    own = std::max(own, hb.position_[from.index] + 1);
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      for (; done[lane] < plan.lane_steps[lane].size(); ++done[lane], moved = true) {
        const StepId id = plan.lane_steps[lane][done[lane]];
        const auto waits = plan.waits(plan.steps[id.index]);
        const auto unmet = [&](const Wait& wait) {
          return wait.lane >= lanes || done[wait.lane] < wait.count;
        };
        if (std::ranges::any_of(waits, unmet)) break;
        hb.lane_of_[id.index] = static_cast<std::uint32_t>(lane);
        hb.position_[id.index] = done[lane];
        const auto clock = std::span(hb.known_).subspan(id.index * lanes, lanes);
        if (done[lane] > 0) merge_from(plan.lane_steps[lane][done[lane] - 1], clock);
        for (const Wait& wait : waits) {
          if (wait.count > 0) merge_from(plan.lane_steps[wait.lane][wait.count - 1], clock);
        }
        hb.order_.push_back(id);
      }
    }
  }
  if (const auto lost = step_on_no_lane(plan); lost.valid()) {
    return Unexpected(Error(
        Diagnostic{kStepLost, describe(graph, plan, plan.steps[lost.index]) + " is on no lane", "",
                   "list every step once, on the lane it names"}));
  }
  if (hb.order_.size() != plan.steps.size()) {
    return Unexpected(Error(Diagnostic{kDeadlock, stuck_lanes(plan, graph, done), "",
                                       "record steps so that each waits only for earlier ones"}));
  }
  return hb;
}

}  // namespace dynaflow
