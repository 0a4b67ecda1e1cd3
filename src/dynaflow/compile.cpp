#include "dynaflow/compile.h"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "dynaflow/base/check.h"
#include "dynaflow/schedule/verify.h"

namespace dynaflow {
namespace {

/// A strategy is the user's code: what it throws becomes S11.
Result<Split> call_split(const OpScheduler& scheduler, const Batch& batch) {
  const auto failed = [&](std::string what) {
    return Unexpected(
        Error(Diagnostic{kStrategyFailed, std::move(what), std::string(scheduler.name()) + ".split",
                         "the strategy's own code threw this"}));
  };
  try {
    return scheduler.split(batch);
  } catch (const std::exception& failure) {
    return failed(failure.what());
  } catch (...) {
    return failed("an exception that is no std::exception");
  }
}

/// Marks this thread as the one that plans.
class Planning {
 public:
  explicit Planning(std::atomic<std::thread::id>& thread) : thread_(thread) {
    thread_ = std::this_thread::get_id();
  }
  ~Planning() { thread_ = std::thread::id(); }
  Planning(const Planning&) = delete;
  Planning& operator=(const Planning&) = delete;

 private:
  std::atomic<std::thread::id>& thread_;
};

}  // namespace

Result<std::shared_ptr<const PlacedPlan>> make_placed_plan(std::shared_ptr<const Graph> graph,
                                                           const OpScheduler& scheduler,
                                                           const Split& split) {
  if (auto well = all_well(verify(split)); !well) return Unexpected(well.error());
  const Schedule schedule = record(*graph, scheduler, split);
  if (auto well = all_well(verify(*graph, schedule)); !well) return Unexpected(well.error());
  Plan plan = make_plan(*graph, schedule);
  return PlacedPlan::make(std::move(graph), std::move(plan));
}

CompiledGraph::CompiledGraph(Graph graph, std::shared_ptr<const OpScheduler> scheduler,
                             Device& device, CompileOptions options)
    : graph_(std::make_shared<const Graph>(std::move(graph))),
      scheduler_(std::move(scheduler)),
      options_(options),
      arena_(std::make_shared<Arena>(device)),
      splits_(options.splits),
      programs_(options.programs) {
  DYNAFLOW_CHECK(scheduler_ != nullptr);
}

Result<Stats> CompiledGraph::run(const Batch& batch, std::span<const Binding> bindings,
                                 const RunOptions& options) {
  const auto found = program(batch);
  if (!found) return Unexpected(found.error());
  return (*found)->run(bindings, options);
}

std::optional<Error> CompiledGraph::reentry() const {
  // Before the lock: the thread that holds it may be waiting for this very run to end.
  if (!arena_->device().is_running_here() && planning_ != std::this_thread::get_id()) return {};
  return Error(Diagnostic{kReentry, "a body or a strategy uses the graph it is part of",
                          "CompiledGraph", "start it when this run has ended"});
}

Result<Split> CompiledGraph::split(const Batch& batch) {
  if (auto refusal = reentry()) return Unexpected(*std::move(refusal));
  const std::scoped_lock lock(mutex_);
  const Planning planning(planning_);
  const auto found = sizes(batch);
  if (!found) return Unexpected(found.error());
  return (*found)->split;
}

Result<std::shared_ptr<Program>> CompiledGraph::program(const Batch& batch) {
  if (auto refusal = reentry()) return Unexpected(*std::move(refusal));
  const std::scoped_lock lock(mutex_);
  const Planning planning(planning_);
  const auto found = sizes(batch);
  if (!found) return Unexpected(found.error());
  const ProgramSizes& wanted = **found;
  if (auto* known = programs_.find(wanted)) return *known;
  auto placed = plan(wanted.split);
  if (!placed) return Unexpected(placed.error());
  ++bindings_;
  auto made = Program::make(std::move(*placed), arena_, wanted.split, wanted.symbols);
  if (!made) return Unexpected(made.error());
  return programs_.put(wanted, std::make_shared<Program>(std::move(*made)));
}

Result<const ProgramSizes*> CompiledGraph::sizes(const Batch& batch) {
  if (const ProgramSizes* known = splits_.find(batch)) return known;
  ++splits_made_;
  auto parts = call_split(*scheduler_, batch);
  if (!parts) return Unexpected(parts.error());
  if (auto well = all_well(verify(batch, *parts)); !well) return Unexpected(well.error());
  return &splits_.put(batch, {std::move(*parts), batch.symbols});
}

Result<std::shared_ptr<const PlacedPlan>> CompiledGraph::plan(const Split& parts) {
  const auto serves = [&](const auto& placed) { return placed->plan().key.matches(parts); };
  const auto at = std::ranges::find_if(plans_, serves);
  if (at != plans_.end()) {
    std::rotate(plans_.begin(), at, at + 1);
    return plans_.front();
  }
  ++recordings_;
  auto placed = make_placed_plan(graph_, *scheduler_, parts);
  if (!placed) return placed;
  if (!plans_.empty() && plans_.size() >= options_.plans) plans_.pop_back();
  return plans_.emplace_front(std::move(*placed));
}

CompileStats CompiledGraph::stats() const {
  // Without the lock, so that even a body may ask.
  return {splits_made_.load(), recordings_.load(), bindings_.load()};
}

}  // namespace dynaflow
