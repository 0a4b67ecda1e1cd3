#include "dynaflow/plan/happens_before.h"

#include <algorithm>

#include "dynaflow/plan/issue_order.h"

namespace dynaflow {
namespace {

/// Which lane waits for which, for a plan that is stuck after `done` steps per lane.
std::string stuck_lanes(const Plan& plan, const Graph& graph, const IssueOrder& order,
                        const std::vector<std::uint32_t>& done) {
  std::string text;
  for (std::size_t lane = 0; lane < plan.lanes.size(); ++lane) {
    if (done[lane] == plan.lane_steps[lane].size()) continue;
    const StepId id = plan.lane_steps[lane][done[lane]];
    const Step& step = plan.steps[id.index];
    const auto add = [&](const std::string& why) {
      text += (text.empty() ? "" : "; ") + label(graph, plan, step) + " on lane " +
              plan.lanes[lane].name + why;
    };
    for (const Wait& wait : plan.waits(step)) {
      if (done[wait.lane] >= wait.count) continue;
      add(" waits for " +
          (wait.count <= plan.lane_steps[wait.lane].size()
               ? label(graph, plan, plan.steps[plan.lane_steps[wait.lane][wait.count - 1].index])
               : std::string("a step that is not there")));
    }
    for (const auto [group, number] : order.of(id)) {
      if (number == 0) continue;
      const Step& before = plan.steps[order.step({group, number - 1}).index];
      if (done[before.lane.index] > before.position) continue;
      add(" is issued after " + label(graph, plan, before));
    }
  }
  return text;
}

}  // namespace

bool HappensBefore::before(StepId earlier, StepId later) const {
  return known_at(later)[lane_of_[earlier.index]] > position_[earlier.index];
}

HappensBefore::HappensBefore(const Plan& plan)
    : lanes_(plan.lanes.size()),
      known_(plan.steps.size() * lanes_),
      lane_of_(plan.steps.size()),
      position_(plan.steps.size()) {
  order_.reserve(plan.steps.size());
}

void HappensBefore::learn_from(StepId earlier, std::span<std::uint32_t> known) const {
  const auto theirs = known_at(earlier);
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    known[lane] = std::max(known[lane], theirs[lane]);
  }
  std::uint32_t& own = known[lane_of_[earlier.index]];
  own = std::max(own, position_[earlier.index] + 1);
}

void HappensBefore::visit(const Plan& plan, std::uint32_t lane, std::uint32_t position) {
  const StepId id = plan.lane_steps[lane][position];
  lane_of_[id.index] = lane;
  position_[id.index] = position;
  const auto known = std::span(known_).subspan(id.index * lanes_, lanes_);
  if (position > 0) learn_from(plan.lane_steps[lane][position - 1], known);
  for (const Wait& wait : plan.waits(plan.steps[id.index])) {
    if (wait.count > 0) learn_from(plan.lane_steps[wait.lane][wait.count - 1], known);
  }
  order_.push_back(id);
}

// One step of each lane in turn, so that no lane runs far ahead of one that could keep up.
Result<HappensBefore> HappensBefore::of(const Plan& plan, const Graph& graph) {
  HappensBefore hb(plan);
  const IssueOrder issue_order(graph, plan);
  std::vector<std::uint32_t> issued(issue_order.groups(), 0);
  std::vector<std::uint32_t> done(plan.lanes.size(), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::uint32_t lane = 0; lane < done.size(); ++lane) {
      if (done[lane] == plan.lane_steps[lane].size()) continue;
      const StepId id = plan.lane_steps[lane][done[lane]];
      const auto met = [&](const Wait& wait) { return done[wait.lane] >= wait.count; };
      const auto next = [&](IssueOrder::Place place) {
        return issued[place.group] == place.number;
      };
      if (!std::ranges::all_of(plan.waits(plan.steps[id.index]), met)) continue;
      if (!std::ranges::all_of(issue_order.of(id), next)) continue;
      for (const IssueOrder::Place place : issue_order.of(id)) ++issued[place.group];
      hb.visit(plan, lane, done[lane]++);
      moved = true;
    }
  }
  if (hb.order_.size() == plan.steps.size()) return hb;
  return Unexpected(Error(Diagnostic{kDeadlock, stuck_lanes(plan, graph, issue_order, done),
                                     "plan of " + plan.strategy,
                                     "record steps so that each waits only for earlier ones"}));
}

}  // namespace dynaflow
