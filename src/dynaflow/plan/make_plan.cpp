#include <algorithm>
#include <utility>

#include "dynaflow/base/check.h"
#include "dynaflow/graph/chain.h"
#include "dynaflow/plan/plan.h"

namespace dynaflow {
namespace {

/// An access of an earlier step that a later one may have to wait for.
struct Record {
  StepId step;
  MicrobatchRange rows;
  std::int64_t begin;
  std::int64_t end;

  [[nodiscard]] bool meets(const Record& other) const {
    return rows.overlaps(other.rows) && begin < other.end && other.begin < end;
  }
  /// Later steps that follow this write need not look for the rows it covers, which are taken off
  /// the earlier records from either end.
  void hide(std::vector<Record>& earlier) const {
    for (Record& other : earlier) {
      if (other.step == step || other.begin < begin || end < other.end) continue;
      if (!rows.overlaps(other.rows)) continue;
      if (rows.first <= other.rows.first) {
        other.rows.first = std::min(rows.last, other.rows.last);
      } else if (other.rows.last <= rows.last) {
        other.rows.last = rows.first;
      }
    }
    std::erase_if(earlier, [](const Record& other) { return other.rows.count() == 0; });
  }
};

struct History {
  std::vector<Record> writes;
  std::vector<Record> reads;
};

class Planner {
 public:
  Planner(const Graph& graph, const Schedule& schedule)
      : graph_(graph),
        schedule_(schedule),
        histories_(graph.resource_count()),
        started_(graph.storages().size(), 0),
        all_{0, schedule.key.microbatches} {
    plan_.strategy = schedule.strategy;
    plan_.key = schedule.key;
    plan_.lanes = schedule.lanes;
    plan_.replacements = schedule.replacements;
    plan_.lane_steps.resize(schedule.lanes.size());
    last_done_.assign(schedule.lanes.size(), std::vector<std::uint32_t>(schedule.lanes.size(), 0));
  }

  Plan run() {
    for (const ScheduledStep& step : schedule_.steps) add(step);
    return std::move(plan_);
  }

 private:
  void add(const ScheduledStep& from) {
    const MicrobatchRange mbs{from.microbatches.front().index, from.microbatches.back().index + 1};
    planned_.emplace_back();
    if (happens_for_nothing(from, mbs)) {
      for (const StepId before : from.after) stand_in(before, planned_.back().stand_ins);
      return;
    }
    planned_.back().step = id_at<StepId>(plan_.steps.size());
    Step step;
    step.microbatches = mbs;
    step.lane = from.lane;
    step.replacement = from.replacement;
    step.position = static_cast<std::uint32_t>(plan_.lane_steps[from.lane.index].size());
    step.ops = put(plan_.step_ops, std::span<const OpId>(from.ops));
    add_operands(from, step);
    need_.assign(plan_.lanes.size(), 0);
    need_data(from, step);
    for (const StepId before : from.after) {
      std::vector<StepId> steps;
      stand_in(before, steps);
      for (const StepId step_before : steps) need(step_before);
    }
    keep_waits(step);
    plan_.lane_steps[from.lane.index].push_back(planned_.back().step);
    plan_.steps.push_back(step);
  }

  /// A scheduled step in the plan; or, if it was left out, the steps it would have followed.
  struct Planned {
    StepId step;
    std::vector<StepId> stand_ins;
  };

  void stand_in(StepId scheduled, std::vector<StepId>& out) const {
    const Planned& planned = planned_[scheduled.index];
    if (planned.step.valid()) {
      out.push_back(planned.step);
    } else {
      out.insert(out.end(), planned.stand_ins.begin(), planned.stand_ins.end());
    }
  }

  template <class T>
  static Slice put(std::vector<T>& pool, std::span<const T> items) {
    const auto first = static_cast<std::uint32_t>(pool.size());
    pool.insert(pool.end(), items.begin(), items.end());
    return {first, static_cast<std::uint32_t>(items.size())};
  }

  /// Empty micro-batches skip compute. Collectives happen all the same, since other ranks wait for
  /// them; so do sums, since somebody must start them, and ops that run once per batch.
  [[nodiscard]] bool happens_for_nothing(const ScheduledStep& step, MicrobatchRange mbs) const {
    for (const Microbatch mb : mbs) {
      if (schedule_.key.empty[mb.index] == 0) return false;
    }
    return std::ranges::all_of(step.ops, [&](OpId id) {
      const Op& op = graph_.op(id);
      return op.group.empty() && op.runs == RunsPer::kMicrobatch && !accumulates(op);
    });
  }

  static bool accumulates(const Op& op) {
    return std::ranges::any_of(
        op.operands, [](const Operand& operand) { return operand.access == Access::kAccumulate; });
  }

  void add_operands(const ScheduledStep& from, Step& step) {
    if (from.replacement == kNoReplacement) {
      const Op& op = graph_.op(from.ops.front());
      step.operands = put(plan_.step_operands, std::span<const Operand>(op.operands));
      step.reads = static_cast<std::uint32_t>(op.reads);
    } else {
      const ChainBoundary chain = chain_boundary(graph_, from.ops);
      step.operands = put(plan_.step_operands, std::span<const Operand>(chain.operands));
      step.reads = static_cast<std::uint32_t>(chain.reads);
    }
    for (std::uint32_t i = step.reads; i < step.operands.count; ++i) {
      Operand& operand = plan_.step_operands[step.operands.first + i];
      if (operand.access != Access::kAccumulate) continue;
      std::uint8_t& started = started_[graph_.value(operand.value).storage.index];
      if (started == 0) operand.access = Access::kWrite;
      started = 1;
    }
  }

  /// Everything this step touches, as the records it leaves behind.
  void need_data(const ScheduledStep& from, const Step& step) {
    touched_.clear();
    for (const Operand& operand : plan_.operands(step)) {
      const Value& value = graph_.value(operand.value);
      const bool own = graph_.storage(value.storage).kind == Kind::kSplit;
      touch(value.storage.index, operand.access, own ? step.microbatches : all_, value.bytes());
    }
    for (const OpId op : from.ops) {
      for (const Effect& effect : graph_.op(op).effects) {
        const auto resource =
            static_cast<std::uint32_t>(graph_.storages().size()) + effect.state.index;
        touch(resource, effect.access, effect.rows == Rows::kOwn ? step.microbatches : all_,
              {0, 1});
      }
    }
    for (const Touched& each : touched_) remember(each);
  }

  struct Touched {
    std::uint32_t resource;
    bool writes;
    Record record;
  };

  void touch(std::uint32_t resource, Access access, MicrobatchRange rows, ByteRange bytes) {
    if (!graph_.is_written(resource)) return;
    const bool writes = access != Access::kRead;
    const Record record{planned_.back().step, rows, bytes.begin, bytes.end};
    const History& history = histories_[resource];
    follow(history.writes, record);
    if (writes) follow(history.reads, record);
    touched_.push_back({resource, writes, record});
  }

  void follow(const std::vector<Record>& earlier, const Record& record) {
    for (const Record& other : earlier) {
      if (other.meets(record)) need(other.step);
    }
  }

  void remember(const Touched& touched) {
    History& history = histories_[touched.resource];
    if (!touched.writes) {
      history.reads.push_back(touched.record);
      return;
    }
    touched.record.hide(history.reads);
    touched.record.hide(history.writes);
    history.writes.push_back(touched.record);
  }

  void need(StepId before) {
    const Step& step = plan_.steps[before.index];
    std::uint32_t& count = need_[step.lane.index];
    count = std::max(count, step.position + 1);
  }

  /// What is complete once lane `lane` has completed `count` steps.
  [[nodiscard]] std::span<const std::uint32_t> done(std::size_t lane, std::uint32_t count) const {
    const StepId step = plan_.lane_steps[lane][count - 1];
    return std::span(done_).subspan(step.index * plan_.lanes.size(), plan_.lanes.size());
  }

  [[nodiscard]] bool implied(std::size_t lane, std::size_t own) const {
    if (last_done_[own][lane] >= need_[lane]) return true;
    for (std::size_t other = 0; other < need_.size(); ++other) {
      if (other == own || other == lane || need_[other] <= last_done_[own][other]) continue;
      if (done(other, need_[other])[lane] >= need_[lane]) return true;
    }
    return false;
  }

  void keep_waits(Step& step) {
    const std::size_t own = step.lane.index;
    std::vector<std::uint32_t> clock = last_done_[own];
    step.waits.first = static_cast<std::uint32_t>(plan_.step_waits.size());
    for (std::size_t lane = 0; lane < need_.size(); ++lane) {
      if (lane == own || need_[lane] == 0 || implied(lane, own)) continue;
      plan_.step_waits.push_back({static_cast<std::uint32_t>(lane), need_[lane]});
      ++step.waits.count;
      const auto theirs = done(lane, need_[lane]);
      for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], theirs[i]);
    }
    clock[own] = step.position + 1;
    done_.insert(done_.end(), clock.begin(), clock.end());
    last_done_[own] = std::move(clock);
  }

  const Graph& graph_;
  const Schedule& schedule_;
  Plan plan_;
  std::vector<History> histories_;
  std::vector<std::uint8_t> started_;  ///< per storage: its sum was started
  MicrobatchRange all_;
  std::vector<Planned> planned_;     ///< per scheduled step
  std::vector<std::uint32_t> need_;  ///< per lane, for the step being added
  std::vector<Touched> touched_;
  std::vector<std::uint32_t> done_;                    ///< per step and lane: complete after it
  std::vector<std::vector<std::uint32_t>> last_done_;  ///< per lane: done_ of its last step
};

}  // namespace

Plan make_plan(const Graph& graph, const Schedule& schedule) {
  return Planner(graph, schedule).run();
}

}  // namespace dynaflow
