#include "dynaflow/runtime/work.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

namespace dynaflow {
namespace {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Of the calling thread alone, and only while it has a core.
std::int64_t thread_cpu_ns() {
  timespec spent{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return std::int64_t{spent.tv_sec} * 1'000'000'000 + spent.tv_nsec;
}

}  // namespace

Program::Work::Work(std::shared_ptr<const PlacedPlan> placed, std::vector<LaneGrant> granted)
    : plan_(std::move(placed)),
      views_(plan_->plan().step_operands.size()),
      positions_(views_.size(), 0),
      counts_(plan_->plan().lanes.size()),
      callers_(*plan_),
      unplaced_(*plan_, views_),
      turns_(plan_->graph(), plan_->plan()) {
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
    entry.kernel = &kernel_of(plan_->graph(), plan, step);
    entry.name = label(plan_->graph(), plan, step);
    entry.args.views = std::span(views_).subspan(step.operands.first, step.operands.count);
    entry.args.reads = step.reads;
    entry.args.memory = &unplaced_;
    entry.args.name = entry.name;
    entry.args.counts = &counts_[step.lane.index];
    if (lanes.size() > 1) entry.args.cores = static_cast<int>(lanes[step.lane.index].cores.size());
    entry.operands = step.operands;
    entry.turn = turns_.of(id_at<StepId>(steps.size() - 1));
    const Body* const body = body_of(plan_->graph(), plan, step);
    if (body != nullptr && body->passes_turn()) entry.args.turn = entry.turn;
  }
  mark_awaited();
}

void Program::Work::add_views(const Step& step) {
  const Graph& graph = plan_->graph();
  for (std::uint32_t i = step.operands.first; i < step.operands.first + step.operands.count; ++i) {
    const StorageId storage = graph.value(plan_->plan().step_operands[i].value).storage;
    if (graph.storage(storage).memory == Memory::kArena) in_arena_.push_back(i);
  }
}

void Program::Work::resize(const Placement& placement, BoundBodies bodies) {
  const Plan& plan = plan_->plan();
  const Buffers& buffers = plan_->buffers();
  symbols_ = placement.symbols;
  bodies_ = std::move(bodies);
  scratch_.clear();
  for (std::uint32_t s = 0; s < plan.steps.size(); ++s) {
    Entry& entry = entries_[s];
    entry.body = bodies_->of(s);
    entry.args.rows = placement.rows(plan.steps[s].microbatches);
    entry.args.symbols = symbols_;
    entry.args.scratch = {};
    const BufferId buffer = buffers.scratch[s];
    if (!buffer.valid() || placement.sizes[buffer.index] == 0) continue;
    scratch_.push_back({s, placement.offsets[buffer.index], placement.sizes[buffer.index]});
  }
  for (std::size_t i = 0; i < views_.size(); ++i) {
    positions_[i] = placement.offsets[buffers.of_operand[i].index] + placement.views[i].offset;
    views_[i] = layout(plan_->graph(), plan, placement, i);  // a null binding leaves it null
  }
  arena_data_ = nullptr;
  callers_.resize(placement);
}

void Program::Work::use_arena(const std::shared_ptr<DeviceMemory>& memory) {
  memory_ = memory;
  if (arena_data_ == memory->data()) return;
  arena_data_ = memory->data();
  for (const std::uint32_t i : in_arena_) views_[i].data = arena_data_ + positions_[i];
  for (const Scratch& each : scratch_) {
    entries_[each.step].args.scratch = {arena_data_ + each.offset,
                                        static_cast<std::size_t>(each.bytes)};
  }
}

void Program::Work::use_context(const void* context) {
  if (entries_.empty() || entries_.front().args.context == context) return;
  for (Entry& entry : entries_) entry.args.context = context;
}

Result<void> Program::Work::begin_run(std::span<const Binding> bindings, const Arena& arena,
                                      const RunOptions& options) {
  if (auto well = callers_.bind(bindings, views_, positions_); !well) return well;
  use_arena(arena.memory());
  if (unplaced_.any()) unplaced_.reset();
  std::ranges::fill(counts_, BodyCounts{});
  turns_.reset();
  use_context(options.context);
  trace_ = options.trace;
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
  Stamp& stamp = stamps_[step];
  const std::int64_t cpu_before = thread_cpu_ns();
  stamp.begin_ns = now_ns() - started_ns_;
  run_body(entry);
  stamp.end_ns = now_ns() - started_ns_;
  // Asking for it takes some too, outside of the step.
  stamp.cpu_ns = std::min(thread_cpu_ns() - cpu_before, stamp.end_ns - stamp.begin_ns);
}

void Program::Work::run_body(const Entry& entry) {
  if (entry.turn != entry.args.turn) entry.turn->take();
  if (entry.body != nullptr) {
    entry.body->run(entry.args);
  } else {
    (*entry.kernel)(entry.args);
  }
  if (entry.turn != nullptr) {
    entry.turn->take();  // a body may have found that there is nothing to issue
    entry.turn->pass();
  }
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
    if (stamps_[i].end_ns == Stamp::kNever) continue;  // the run ended in an error before
    const Step& step = plan.steps[i];
    const auto awaited = plan.waits(step);
    timeline.spans.push_back({id_at<StepId>(i),
                              step.lane,
                              label(plan_->graph(), plan, step),
                              plan_->graph().op(plan.ops(step).front()).cost,
                              stamps_[i].begin_ns,
                              stamps_[i].end_ns,
                              step.microbatches,
                              {awaited.begin(), awaited.end()},
                              stamps_[i].cpu_ns});
  }
  std::ranges::stable_sort(timeline.spans, {}, [](const Timeline::Span& span) {
    return std::pair(span.begin_ns, span.lane);
  });
  return timeline;
}

}  // namespace dynaflow
