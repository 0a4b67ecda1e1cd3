#include "dynaflow/schedule/schedule_context.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <utility>

#include "dynaflow/base/check.h"
#include "dynaflow/schedule/op_scheduler.h"

namespace dynaflow {
namespace {

/// More questions than any strategy needs between two executes, for a few micro-batches or many.
constexpr std::uint64_t kIdleQueries = 10'000;
constexpr std::uint64_t kIdleQueriesPerMicrobatch = 100;

/// Ends a recording that makes no progress, from inside the strategy's own loop. No std::exception,
/// so that a strategy's own handlers let it pass.
struct RecordingStopped {};

std::uint64_t next_recording() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

Diagnostic strategy_failed(std::string what) {
  return {kStrategyFailed, std::move(what), "", "the strategy's own code threw this"};
}

Schedule::Key key_of(const Split& split) {
  Schedule::Key key;
  key.microbatches = split.count();
  for (const std::int64_t size : split.sizes) key.empty.push_back(size == 0 ? 1 : 0);
  return key;
}

}  // namespace

ReadyOp::ReadyOp() {
  static const Op kNothing{};
  op_ = &kNothing;
}

ScheduleContext::ScheduleContext(const Graph& graph, const Split& split)
    : graph_(graph), split_(split), recording_(next_recording()), ready_(split.count()) {
  const std::size_t slots = graph.ops().size() * split.count();
  schedule_.key = key_of(split);
  pending_.resize(slots);
  issued_.resize(slots, 0);
  issued_with_.resize(slots);
  if (split.count() == 0) return;
  for (std::size_t i = 0; i < graph.ops().size(); ++i) {
    const auto op = id_at<OpId>(i);
    const std::uint32_t runs = natural_range(op, 0).count() == 1 ? split.count() : 1;
    remaining_ += runs;
    for (std::uint32_t mb = 0; mb < runs; ++mb) {
      pending_[slot(op, mb)] = initial_pending(op);
      if (pending_[slot(op, mb)] == 0) ready_[mb].insert(op.index);
    }
  }
}

std::size_t ScheduleContext::slot(OpId op, std::uint32_t mb) const {
  const bool once = graph_.op(op).runs == RunsPer::kBatch;
  return std::size_t{op.index} * split_.count() + (once ? 0 : mb);
}

MicrobatchRange ScheduleContext::natural_range(OpId op, std::uint32_t mb) const {
  return graph_.op(op).runs == RunsPer::kBatch ? microbatches() : MicrobatchRange{mb, mb + 1};
}

std::uint32_t ScheduleContext::initial_pending(OpId op) const {
  const bool once = graph_.op(op).runs == RunsPer::kBatch;
  std::uint32_t count = 0;
  for (const Dependency& before : graph_.predecessors(op)) {
    const bool before_once = graph_.op(before.op).runs == RunsPer::kBatch;
    const bool many = !before_once && (once || before.rows == Rows::kAll);
    count += many ? split_.count() : 1;
  }
  return count;
}

ReadyOp ScheduleContext::handle(OpId op, MicrobatchRange mbs) const {
  ReadyOp ready;
  ready.op_ = &graph_.op(op);
  ready.id_ = op;
  ready.microbatches_ = mbs;
  ready.recording_ = recording_;
  return ready;
}

std::int64_t ScheduleContext::rows(Microbatch mb) {
  count_query();
  if (mb.index >= split_.count()) return 0;
  const std::pair read{mb.index, split_.sizes[mb.index]};
  auto& reads = schedule_.key.rows_read;
  if (std::ranges::find(reads, read) == reads.end()) reads.push_back(read);
  return read.second;
}

void ScheduleContext::count_query() {
  if (++idle_queries_ <= kIdleQueries + kIdleQueriesPerMicrobatch * split_.count()) return;
  if (idle_queries_ == kIdleQueries + kIdleQueriesPerMicrobatch * split_.count() + 1) {
    schedule_.findings.push_back(
        {kNoProgress,
         "the strategy asked " + std::to_string(idle_queries_ - 1) +
             " times without executing anything, with " + std::to_string(remaining_) +
             " ops still to run",
         "", "execute at least one op of get_ready_ops in every round of the loop"});
  }
  stopped_ = true;
  throw RecordingStopped();
}

/// An unplaced value is never sliced, so whoever reads it runs on the micro-batches it was made
/// for. Nothing, while not all of those are ready, or where a lower one stands for them.
std::optional<MicrobatchRange> ScheduleContext::range_to_offer(OpId op, std::uint32_t mb) const {
  MicrobatchRange range = natural_range(op, mb);
  if (graph_.op(op).runs == RunsPer::kBatch) return range;
  for (const Touch& touch : graph_.touches(op)) {
    if (touch.resource >= graph_.storages().size()) continue;
    const Storage& storage = graph_.storages()[touch.resource];
    if (storage.memory != Memory::kUnplaced || storage.kind != Kind::kSplit) continue;
    const OpId maker = graph_.users(touch.resource).front();
    if (maker != op) range = issued_with_[slot(maker, mb)];
  }
  if (range.first != mb) return std::nullopt;
  for (std::uint32_t other = range.first; other < range.last; ++other) {
    if (!ready_[other].contains(op.index)) return std::nullopt;
  }
  return range;
}

std::vector<ReadyOp> ScheduleContext::get_ready_ops(Microbatch mb) {
  count_query();
  std::vector<ReadyOp> found;
  if (mb.index >= split_.count()) return found;
  for (const std::uint32_t op : ready_[mb.index]) {
    if (const auto range = range_to_offer({op}, mb.index)) found.push_back(handle({op}, *range));
  }
  return found;
}

std::optional<ReadyOp> ScheduleContext::first_ready_op(Microbatch mb) {
  count_query();
  if (mb.index >= split_.count()) return std::nullopt;
  for (const std::uint32_t op : ready_[mb.index]) {
    if (const auto range = range_to_offer({op}, mb.index)) return handle({op}, *range);
  }
  return std::nullopt;
}

std::vector<ReadyOp> ScheduleContext::get_ready_ops() {
  count_query();
  std::vector<ReadyOp> found;
  for (const Microbatch mb : microbatches()) {
    for (const std::uint32_t op : ready_[mb.index]) {
      if (const auto range = range_to_offer({op}, mb.index)) found.push_back(handle({op}, *range));
    }
  }
  std::ranges::stable_sort(found, {}, [](const ReadyOp& op) { return op.id(); });
  return found;
}

std::vector<ReadyOp> ScheduleContext::get_ready_after(const std::vector<ReadyOp>& ops) {
  count_query();
  // Pretend: count, per successor and micro-batch, how many of its predecessors `ops` would issue.
  std::set<std::size_t> pretended;
  std::map<std::pair<OpId, std::uint32_t>, std::uint32_t> freed;
  for (const ReadyOp& op : ops) {
    if (op.recording_ != recording_) continue;
    for (const Microbatch mb : op.microbatches()) {
      const std::size_t at = slot(op.id(), mb.index);
      if (issued_[at] != 0 || !pretended.insert(at).second) continue;
      for (const Dependency& next : graph_.successors(op.id())) {
        for (const Microbatch reached : reach(next, mb.index)) ++freed[{next.op, reached.index}];
      }
    }
  }
  std::vector<ReadyOp> found;
  for (const auto& [where, count] : freed) {
    const std::size_t at = slot(where.first, where.second);
    if (pending_[at] == count && issued_[at] == 0 && !pretended.contains(at)) {
      found.push_back(handle(where.first, natural_range(where.first, where.second)));
    }
  }
  return found;
}

bool ScheduleContext::unfinished() {
  count_query();
  return remaining_ > 0;
}

Lane ScheduleContext::lane(std::string_view name, Share share) {
  count_query();
  auto& lanes = schedule_.lanes;
  auto at = std::ranges::find(lanes, name, &LaneRequest::name);
  if (at == lanes.end()) at = lanes.insert(lanes.end(), {std::string(name), share});
  Lane lane;
  lane.id_ = id_at<LaneId>(static_cast<std::size_t>(at - lanes.begin()));
  lane.recording_ = recording_;
  return lane;
}

IssuedStep ScheduleContext::execute(const ReadyOp& op, ExecuteOptions options, const Where& where) {
  return execute(std::vector{op}, std::move(options), where);
}

IssuedStep ScheduleContext::execute(const std::vector<ReadyOp>& ops, ExecuteOptions options,
                                    const Where& where) {
  ScheduledStep step;
  step.where = where;
  step.lane = lane_of(options, step);
  for (const IssuedStep& before : options.after) {
    if (before.recording_ != recording_) step.handles = ScheduledStep::Handles::kForeign;
    step.after.push_back(before.id_);
  }
  std::vector<ScheduledStep> steps = one_step_per_op(ops, step);
  if (options.replace_func) {
    const auto index = static_cast<std::uint32_t>(schedule_.replacements.size());
    schedule_.replacements.push_back(std::move(*options.replace_func));
    steps = {fuse(steps, index)};
  }
  IssuedStep issued;
  issued.recording_ = recording_;
  for (ScheduledStep& one : steps) issued.id_ = append(std::move(one));
  return issued;
}

std::vector<ScheduledStep> ScheduleContext::one_step_per_op(const std::vector<ReadyOp>& ops,
                                                            const ScheduledStep& like) const {
  std::vector<ScheduledStep> steps;
  for (const ReadyOp& op : ops) {
    const auto same = [&](const ScheduledStep& other) { return other.ops.front() == op.id(); };
    auto at = std::ranges::find_if(steps, same);
    if (at == steps.end()) {
      at = steps.insert(at, like);
      at->ops.push_back(op.id());
    }
    if (op.recording_ != recording_) at->handles = ScheduledStep::Handles::kForeign;
    for (const Microbatch mb : op.microbatches()) at->microbatches.push_back(mb);
    std::ranges::sort(at->microbatches);
  }
  if (steps.empty()) steps.push_back(like);
  return steps;
}

ScheduledStep ScheduleContext::fuse(const std::vector<ScheduledStep>& steps,
                                    std::uint32_t replacement) {
  ScheduledStep fused = steps.front();
  fused.replacement = replacement;
  for (std::size_t i = 1; i < steps.size(); ++i) {
    fused.ops.push_back(steps[i].ops.front());
    fused.handles = std::max(fused.handles, steps[i].handles);
    if (steps[i].microbatches != fused.microbatches) {
      schedule_.findings.push_back(
          {kIllegalReplace, "the ops of a replaced chain are on different microbatches",
           to_string(fused.where), "give every op of the chain on the same microbatches"});
    }
  }
  std::ranges::sort(fused.ops);
  return fused;
}

LaneId ScheduleContext::lane_of(const ExecuteOptions& options, ScheduledStep& step) {
  if (options.lane.recording_ == 0 && schedule_.lanes.empty()) return lane("main").id_;
  if (options.lane.recording_ == 0) return LaneId{0};
  if (options.lane.recording_ != recording_) step.handles = ScheduledStep::Handles::kForeign;
  return options.lane.id_;
}

StepId ScheduleContext::append(ScheduledStep step) {
  if (step.handles == ScheduledStep::Handles::kForeign || !issue(step)) {
    count_query();
  } else {
    idle_queries_ = 0;
  }
  schedule_.steps.push_back(std::move(step));
  return id_at<StepId>(schedule_.steps.size() - 1);
}

bool ScheduleContext::issue(const ScheduledStep& step) {
  if (step.microbatches.empty()) return false;
  const MicrobatchRange range{step.microbatches.front().index, step.microbatches.back().index + 1};
  bool progress = false;
  for (const OpId op : step.ops) {
    for (const Microbatch mb : step.microbatches) {
      if (op.index >= graph_.ops().size() || mb.index >= split_.count()) continue;
      if (issued_[slot(op, mb.index)] != 0) continue;
      mark_issued(op, mb.index);
      issued_with_[slot(op, mb.index)] = range;
      progress = true;
    }
  }
  return progress;
}

void ScheduleContext::mark_issued(OpId op, std::uint32_t mb) {
  const bool once = graph_.op(op).runs == RunsPer::kBatch;
  issued_[slot(op, mb)] = 1;
  ready_[once ? 0 : mb].erase(op.index);
  --remaining_;
  for (const Dependency& next : graph_.successors(op)) release(next, mb);
}

/// Which micro-batches of a successor get nearer to ready when `mb` of its predecessor is issued.
/// An op that runs once per batch counts at its first micro-batch.
MicrobatchRange ScheduleContext::reach(const Dependency& successor, std::uint32_t mb) const {
  if (graph_.op(successor.op).runs == RunsPer::kBatch) return {0, 1};
  return successor.rows == Rows::kAll ? microbatches() : MicrobatchRange{mb, mb + 1};
}

void ScheduleContext::release(const Dependency& successor, std::uint32_t mb) {
  for (const Microbatch reached : reach(successor, mb)) {
    const std::size_t at = slot(successor.op, reached.index);
    DYNAFLOW_CHECK(pending_[at] > 0);
    if (--pending_[at] == 0 && issued_[at] == 0) ready_[reached.index].insert(successor.op.index);
  }
}

Schedule record(const Graph& graph, const OpScheduler& scheduler, const Split& split) {
  ScheduleContext ctx(graph, split);
  try {
    scheduler.schedule(ctx);
  } catch (const RecordingStopped&) {  // NOLINT(bugprone-empty-catch): its finding is recorded
  } catch (const std::exception& failure) {
    // What stopped the recording may come back as another language's exception.
    if (!ctx.stopped_) ctx.schedule_.findings.push_back(strategy_failed(failure.what()));
  } catch (...) {
    ctx.schedule_.findings.push_back(strategy_failed("an exception that is no std::exception"));
  }
  ctx.schedule_.strategy = scheduler.name();
  if (ctx.schedule_.lanes.empty()) ctx.schedule_.lanes.push_back({"main", {}});
  for (Diagnostic& finding : ctx.schedule_.findings) {
    if (finding.where.empty()) finding.where = ctx.schedule_.strategy + ".schedule";
  }
  return std::move(ctx.schedule_);
}

}  // namespace dynaflow
