#include "dynaflow/runtime/bound_bodies.h"

#include <exception>
#include <map>
#include <string>
#include <utility>

namespace dynaflow {
namespace {

Result<std::shared_ptr<BoundBody>> bind_one(const PlacedPlan& placed, const Placement& placement,
                                            const Step& step) {
  const Plan& plan = placed.plan();
  const auto failed = [&](const std::string& what) {
    return Unexpected(
        Error(Diagnostic{kBodyFailed, describe(placed.graph(), plan, step) + ": " + what, "bind",
                         "the body refuses these sizes: its own message says why"}));
  };
  std::vector<View> views;
  views.reserve(step.operands.count);
  for (std::uint32_t i = 0; i < step.operands.count; ++i) {
    views.push_back(layout(placed.graph(), plan, placement, step.operands.first + i));
  }
  const BindArgs args{
      views, step.reads, {0, placement.rows(step.microbatches).count}, placement.symbols};
  try {
    auto bound = body_of(placed.graph(), plan, step)->bind(args);
    if (bound == nullptr) return failed("its body was bound to null");
    return bound;
  } catch (const std::exception& failure) {
    return failed(failure.what());
  } catch (...) {
    return failed("an exception that is no std::exception");
  }
}

}  // namespace

Result<BoundBodies> BoundBodies::make(const PlacedPlan& placed, const Placement& placement) {
  const Plan& plan = placed.plan();
  BoundBodies bodies;
  bodies.of_step_.assign(plan.steps.size(), nullptr);
  std::map<std::pair<std::uint32_t, LaneId>, BoundBody*> known;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    if (body_of(placed.graph(), plan, step) == nullptr) continue;
    BoundBody*& shared = known[{placement.alike[i], step.lane}];
    if (shared == nullptr) {
      auto bound = bind_one(placed, placement, step);
      if (!bound) return Unexpected(bound.error());
      shared = bodies.bodies_.emplace_back(std::move(*bound)).get();
    }
    bodies.of_step_[i] = shared;
  }
  return bodies;
}

}  // namespace dynaflow
