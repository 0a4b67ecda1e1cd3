#include "dynaflow/runtime/program.h"

#include <algorithm>
#include <utility>

#include "dynaflow/runtime/work.h"

namespace dynaflow {
namespace {

Unexpected bad_binding(std::string message, std::string fix) {
  return Unexpected(
      Error(Diagnostic{kBadBinding, std::move(message), "Program::run", std::move(fix)}));
}

std::int64_t bytes_needed(const Storage& storage, const Placement& placement) {
  return storage.row_bytes * (storage.has_rows() ? placement.row_starts.back() : 1);
}

bool overlap(const Binding& a, const Binding& b) {
  return a.data < b.data + b.bytes && b.data < a.data + a.bytes;
}

/// Every op that runs needs a kernel of its own or a replacement.
Result<void> check_kernels(const PlacedPlan& placed) {
  const Plan& plan = placed.plan();
  for (const Step& step : plan.steps) {
    const Op& op = placed.graph().op(plan.ops(step).front());
    if (step.replacement == kNoReplacement && !op.kernel) {
      return bad_binding("op '" + op.name + "' has no kernel", "set OpSpec::kernel");
    }
  }
  return {};
}

}  // namespace

Program::Program(std::shared_ptr<const PlacedPlan> plan, std::shared_ptr<Arena> arena)
    : plan_(std::move(plan)),
      arena_(std::move(arena)),
      placement_(std::make_unique<Placement>()),
      work_(std::make_shared<Work>(plan_, arena_->device().grant(plan_->plan().lanes))) {}

Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;
Program::~Program() = default;

Result<Program> Program::make(std::shared_ptr<const PlacedPlan> plan, Device& device,
                              const Split& split, std::shared_ptr<Arena> arena) {
  if (auto well = check_kernels(*plan); !well) return Unexpected(well.error());
  if (!arena) arena = std::make_shared<Arena>(device);
  Program program(std::move(plan), std::move(arena));
  if (auto bound = program.rebind(split); !bound) return Unexpected(bound.error());
  return program;
}

Result<void> Program::rebind(const Split& split) {
  if (is_running_here(*arena_)) {
    return Unexpected(Error(Diagnostic{kReentry, "a body rebinds the Program it is part of",
                                       "Program::rebind", "rebind between runs"}));
  }
  const std::scoped_lock lock(arena_->in_use());
  if (!plan().key.matches(split)) {
    return bad_binding("this plan does not serve the split " + to_string(split),
                       "record a plan for it: CompiledGraph does so by itself");
  }
  if (auto placed = plan_->place(split, *placement_); !placed) return placed;
  if (auto room = arena_->reserve(placement_->arena_bytes); !room) return room;
  work_->resize(*placement_);
  return {};
}

Result<void> Program::check(std::span<const Binding> bindings) const {
  const Graph& graph = plan_->graph();
  const std::size_t expected = graph.inputs().size() + graph.outputs().size();
  for (const Binding& binding : bindings) {
    if (binding.value.index >= graph.values().size()) {
      return bad_binding("a binding names a value that is not in this graph",
                         "bind inputs and outputs");
    }
    const Value& value = graph.value(binding.value);
    const Storage& storage = graph.storage(value.storage);
    const auto same = [&](const Binding& other) { return other.value == binding.value; };
    if (storage.memory != Memory::kInput && storage.memory != Memory::kOutput) {
      return bad_binding("'" + value.name + "' is neither input nor output", "leave it out");
    }
    if (std::ranges::count_if(bindings, same) != 1) {
      return bad_binding("'" + value.name + "' is bound twice", "bind each value once");
    }
    if (const auto needed = bytes_needed(storage, *placement_); binding.bytes != needed) {
      return bad_binding("'" + value.name + "' needs " + std::to_string(needed) +
                             " bytes for this batch but is bound to " +
                             std::to_string(binding.bytes),
                         "bind memory of the batch's own size");
    }
    if (binding.data == nullptr && binding.bytes > 0) {
      return bad_binding("'" + value.name + "' is bound to null", "bind memory");
    }
    if (!graph.is_written(value.storage.index)) continue;
    if (binding.use == Binding::Use::kReadOnly) {
      return bad_binding("'" + value.name + "' is written, but is bound as read-only",
                         "bind memory that may be written");
    }
    for (const Binding& other : bindings) {
      if (other.value == binding.value || !overlap(binding, other)) continue;
      return bad_binding("'" + value.name + "' and '" + graph.value(other.value).name +
                             "' are bound to overlapping memory, and one is written",
                         "bind each to memory of its own");
    }
  }
  if (bindings.size() == expected) return {};
  return bad_binding(std::to_string(expected) + " inputs and outputs, but " +
                         std::to_string(bindings.size()) + " bindings",
                     "bind every input and output once");
}

Result<Stats> Program::run(std::span<const Binding> bindings, const RunOptions& options) {
  if (is_running_here(*arena_)) {
    return Unexpected(Error(Diagnostic{kReentry, "a body runs the Program it is part of",
                                       "Program::run", "start the run when this one has ended"}));
  }
  const std::scoped_lock lock(arena_->in_use());
  if (auto well = check(bindings); !well) return Unexpected(well.error());
  return launch(bindings, options);
}

Result<Stats> Program::launch(std::span<const Binding> bindings, const RunOptions& options) {
  work_->use_arena(arena_->memory());
  work_->use(bindings);
  work_->begin_run(options.trace, arena_.get());
  const Result<LaunchStats> launched = arena_->device().launch(work_, options.watch);
  work_->end_run();
  if (!launched) {
    if (launched.error().broke(kStalled)) {
      // A body may still be inside the old one: leave it alone and start afresh.
      auto granted = work_->lanes;
      work_ = std::make_shared<Work>(plan_, std::move(granted));
      work_->resize(*placement_);
    }
    return Unexpected(launched.error());
  }
  Stats stats;
  stats.steps = work_->steps.size();
  stats.waits = launched->waits;
  stats.spins = launched->spins;
  stats.sleeps = launched->sleeps;
  stats.unplaced_values = work_->unplaced().values();
  stats.unplaced_bytes = work_->unplaced().bytes();
  stats.arena_bytes = placement_->arena_bytes;
  return stats;
}

bool Program::is_running_here(const Arena& arena) { return Work::running_here() == &arena; }

Timeline Program::timeline() const { return work_->timeline(); }

const PlacedPlan& Program::placed_plan() const { return *plan_; }

const Placement& Program::placement() const { return *placement_; }

std::span<const LaneGrant> Program::lanes() const { return work_->lanes; }

}  // namespace dynaflow
