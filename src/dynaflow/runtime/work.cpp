#include "dynaflow/runtime/work.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace dynaflow {
namespace {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Program::Work::Work(std::shared_ptr<const PlacedPlan> placed, std::vector<LaneGrant> granted)
    : plan_(std::move(placed)),
      views_(plan_->plan().step_operands.size()),
      positions_(views_.size(), 0),
      callers_(*plan_),
      unplaced_(*plan_, views_) {
  const Plan& plan = plan_->plan();
  lanes = std::move(granted);
  waits = plan.step_waits;
  for (const auto& of_lane : plan.lane_steps) {
    auto& indices = lane_steps.emplace_back();
    for (const StepId step : of_lane) indices.push_back(step.index);
  }
  entries_.reserve(plan.steps.size());
  for (const Step& step : plan.steps) {
    steps.push_back({step.lane.index, step.waits.first, step.waits.count});
    add_views(step);
    Entry& entry = entries_.emplace_back();
    entry.kernel = step.replacement == kNoReplacement
                       ? &plan_->graph().op(plan.ops(step).front()).kernel
                       : &plan.replacements[step.replacement].kernel;
    entry.args.views = std::span(views_).subspan(step.operands.first, step.operands.count);
    entry.args.reads = step.reads;
    entry.args.memory = &unplaced_;
    entry.operands = step.operands;
  }
  mark_awaited();
}

void Program::Work::add_views(const Step& step) {
  const Graph& graph = plan_->graph();
  for (std::uint32_t i = step.operands.first; i < step.operands.first + step.operands.count; ++i) {
    const Operand& operand = plan_->plan().step_operands[i];
    const Value& value = graph.value(operand.value);
    View& view = views_[i];
    view.dtype = value.type.dtype;
    view.sum = operand.access == Access::kAccumulate ? PartialSum::kAdd : PartialSum::kStart;
    if (graph.storage(value.storage).memory == Memory::kArena) in_arena_.push_back(i);
  }
}

void Program::Work::resize(const Placement& placement) {
  const Graph& graph = plan_->graph();
  const Plan& plan = plan_->plan();
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    entries_[s].args.rows = placement.rows(plan.steps[s].microbatches);
  }
  for (std::size_t i = 0; i < views_.size(); ++i) {
    const Value& value = graph.value(plan.step_operands[i].value);
    const Storage& storage = graph.storage(value.storage);
    if (storage.memory == Memory::kUnplaced) continue;
    const PlacedView& placed = placement.views[i];
    positions_[i] = placement.offsets[plan_->buffers().of_operand[i].index] + placed.offset;
    views_[i].data = nullptr;  // a null binding (of no bytes) leaves it so
    views_[i].rows = placed.rows;
    views_[i].row_stride = storage.row_bytes;
    views_[i].elements = value.type.elements;
  }
  arena_data_ = nullptr;
  callers_.resize(placement);
}

void Program::Work::use_arena(const std::shared_ptr<DeviceMemory>& memory) {
  memory_ = memory;
  if (arena_data_ == memory->data()) return;
  arena_data_ = memory->data();
  for (const std::uint32_t i : in_arena_) views_[i].data = arena_data_ + positions_[i];
}

Result<void> Program::Work::begin_run(std::span<const Binding> bindings, const Arena& arena,
                                      RunOptions::Trace trace) {
  if (auto well = callers_.check(bindings); !well) return well;
  callers_.use(bindings, views_, positions_);
  use_arena(arena.memory());
  if (unplaced_.any()) unplaced_.reset();
  trace_ = trace;
  if (trace_ == RunOptions::Trace::kOn) {
    stamps_.assign(entries_.size(), {});
    started_ns_ = now_ns();
  }
  return {};
}

void Program::Work::end_run() {
  if (trace_ == RunOptions::Trace::kOn) total_ns_ = now_ns() - started_ns_;
  memory_ = nullptr;
}

void Program::Work::run_step(std::uint32_t step) {
  const Entry& entry = entries_[step];
  if (trace_ == RunOptions::Trace::kOff) {
    run_body(entry);
    return;
  }
  stamps_[step].begin_ns = now_ns() - started_ns_;
  run_body(entry);
  stamps_[step].end_ns = now_ns() - started_ns_;
}

void Program::Work::run_body(const Entry& entry) {
  (*entry.kernel)(entry.args);
  if (unplaced_.any()) unplaced_.step_done(entry.operands);
}

std::string Program::Work::describe(std::uint32_t step) const {
  return dynaflow::describe(plan_->graph(), plan_->plan(), plan_->plan().steps[step]);
}

Timeline Program::Work::timeline() const {
  const Plan& plan = plan_->plan();
  Timeline timeline;
  for (const LaneRequest& lane : plan.lanes) timeline.lanes.push_back(lane.name);
  timeline.total_ns = total_ns_;
  for (std::size_t i = 0; i < stamps_.size(); ++i) {
    const Step& step = plan.steps[i];
    timeline.spans.push_back({id_at<StepId>(i), step.lane, label(plan_->graph(), plan, step),
                              plan_->graph().op(plan.ops(step).front()).cost, stamps_[i].begin_ns,
                              stamps_[i].end_ns});
  }
  std::ranges::stable_sort(timeline.spans, {}, [](const Timeline::Span& span) {
    return std::pair(span.begin_ns, span.lane);
  });
  return timeline;
}

}  // namespace dynaflow
