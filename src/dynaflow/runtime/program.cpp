#include "dynaflow/runtime/program.h"

#include <algorithm>
#include <utility>

#include "dynaflow/runtime/work.h"

namespace dynaflow {
namespace {

Unexpected bad_binding(std::string message, std::string where, std::string fix) {
  return Unexpected(
      Error(Diagnostic{kBadBinding, std::move(message), std::move(where), std::move(fix)}));
}

/// Every op that runs needs a kernel or a body of its own, or a replacement.
Result<void> check_kernels(const PlacedPlan& placed) {
  const Plan& plan = placed.plan();
  for (const Step& step : plan.steps) {
    const Op& op = placed.graph().op(plan.ops(step).front());
    const bool body = body_of(placed.graph(), plan, step) != nullptr;
    const bool kernel = static_cast<bool>(kernel_of(placed.graph(), plan, step));
    if (body != kernel) continue;
    return bad_binding("op '" + op.name + (body ? "' has a kernel and a body" : "' has no kernel"),
                       "Program::make", "set one of OpSpec::kernel and OpSpec::body");
  }
  return {};
}

}  // namespace

Program::Program(std::shared_ptr<const PlacedPlan> plan, std::shared_ptr<Arena> arena)
    : plan_(std::move(plan)),
      arena_(std::move(arena)),
      placement_(std::make_unique<Placement>()),
      spare_(std::make_unique<Placement>()),
      work_(std::make_shared<Work>(plan_, arena_->device().grant(plan_->plan().lanes))) {}

Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;
Program::~Program() = default;

Result<Program> Program::make(std::shared_ptr<const PlacedPlan> plan, Device& device,
                              const Split& split, std::span<const std::int64_t> symbols) {
  return make(std::move(plan), std::make_shared<Arena>(device), split, symbols);
}

Result<Program> Program::make(std::shared_ptr<const PlacedPlan> plan, std::shared_ptr<Arena> arena,
                              const Split& split, std::span<const std::int64_t> symbols) {
  if (auto well = check_kernels(*plan); !well) return Unexpected(well.error());
  Program program(std::move(plan), std::move(arena));
  if (auto bound = program.rebind(split, symbols); !bound) return Unexpected(bound.error());
  return program;
}

Result<void> Program::rebind(const Split& split, std::span<const std::int64_t> symbols) {
  if (arena_->device().is_running_here()) {
    return Unexpected(
        Error(Diagnostic{kReentry, "a body rebinds a Program of the device it is running on",
                         "Program::rebind", "rebind between runs"}));
  }
  const std::scoped_lock lock(arena_->in_use());
  const auto negative = [](std::int64_t size) { return size < 0; };
  if (!plan().key.matches(split) || std::ranges::any_of(split.sizes, negative)) {
    return bad_binding("this plan does not serve the split " + to_string(split), "Program::rebind",
                       "record a plan for it: CompiledGraph does so by itself");
  }
  // Into the spare, so that a refusal leaves the old sizes in force.
  if (auto placed = plan_->place(split, symbols, *spare_); !placed) return placed;
  auto bodies = BoundBodies::make(*plan_, *spare_);
  if (!bodies) return Unexpected(bodies.error());
  if (auto room = arena_->reserve(spare_->arena_bytes); !room) return room;
  std::swap(placement_, spare_);
  work_->resize(*placement_, std::move(*bodies));
  return {};
}

Result<Stats> Program::run(std::span<const Binding> bindings, const RunOptions& options) {
  if (arena_->device().is_running_here()) {
    return Unexpected(
        Error(Diagnostic{kReentry, "a body runs a Program of the device it is running on",
                         "Program::run", "start the run when this one has ended"}));
  }
  const std::scoped_lock lock(arena_->in_use());
  if (!work_->is_bound()) {
    auto bodies = BoundBodies::make(*plan_, *placement_);
    if (!bodies) return Unexpected(bodies.error());
    work_->resize(*placement_, std::move(*bodies));
  }
  if (auto ready = work_->begin_run(bindings, *arena_, options); !ready) {
    return Unexpected(ready.error());
  }
  return launch(options);
}

Result<Stats> Program::launch(const RunOptions& options) {
  const Result<LaunchStats> launched = arena_->device().launch(work_, options.watch);
  if (!launched && launched.error().broke(kStalled)) {
    // A body may still be inside the old work: leave it alone and start afresh, with bodies bound
    // anew by the next run.
    auto granted = work_->lanes;
    work_ = std::make_shared<Work>(plan_, std::move(granted));
    return Unexpected(launched.error());
  }
  work_->end_run();
  if (!launched) return Unexpected(launched.error());
  return stats_of(*launched);
}

Stats Program::stats_of(const LaunchStats& launched) const {
  Stats stats;
  stats.steps = work_->steps.size();
  stats.waits = launched.waits;
  stats.spins = launched.spins;
  stats.sleeps = launched.sleeps;
  stats.unplaced_values = work_->unplaced().values();
  stats.unplaced_bytes = work_->unplaced().bytes();
  stats.arena_bytes = placement_->arena_bytes;
  for (const BodyCounts& lane : work_->counts()) {
    stats.copied_bytes += lane.copied_bytes;
    stats.body_allocations += lane.allocations;
    stats.python_calls += lane.python_calls;
  }
  return stats;
}

Timeline Program::timeline() const {
  if (arena_->device().is_running_here()) return {};
  const std::scoped_lock lock(arena_->in_use());
  return work_->timeline();
}

const PlacedPlan& Program::placed_plan() const { return *plan_; }

const Placement& Program::placement() const { return *placement_; }

std::span<const LaneGrant> Program::lanes() const { return work_->lanes; }

}  // namespace dynaflow
