#include "dynaflow/plan/verify.h"

#include <algorithm>
#include <ranges>

namespace dynaflow {
namespace {

/// One step's access to one resource, for one of its ops.
struct Use {
  StepId step;
  OpId op;
  MicrobatchRange rows;
  Touch touch;

  [[nodiscard]] bool meets(const Use& other) const {
    return rows.overlaps(other.rows) && touch.meets(other.touch);
  }
  /// Whether whoever follows this one also follows everything before it. Sums do not count: their
  /// parts may come in any order.
  [[nodiscard]] bool hides(const Use& other) const {
    return touch.writes() && touch.access != Access::kAccumulate &&
           rows.first <= other.rows.first && other.rows.last <= rows.last &&
           touch.begin <= other.touch.begin && other.touch.end <= touch.end;
  }
  /// Takes off the rows of an earlier use that this one hides, from either end.
  void trim(Use& other) const {
    Use part = other;
    part.rows = {std::max(rows.first, other.rows.first), std::min(rows.last, other.rows.last)};
    if (part.rows.first >= part.rows.last || !hides(part)) return;
    if (part.rows.first == other.rows.first) {
      other.rows.first = part.rows.last;
    } else if (part.rows.last == other.rows.last) {
      other.rows.last = part.rows.first;
    }
  }
};

class Verifier {
 public:
  Verifier(const Graph& graph, const Plan& plan, const HappensBefore& hb)
      : graph_(graph), plan_(plan), hb_(hb), runs_(graph.ops().size()) {}

  std::vector<Diagnostic> run() {
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      for (const OpId op : plan_.ops(plan_.steps[i])) runs_[op.index].push_back(id_at<StepId>(i));
    }
    for (std::size_t i = 0; i < graph_.ops().size(); ++i) check_runs(id_at<OpId>(i));
    for (std::uint32_t r = 0; r < graph_.resource_count(); ++r) check_resource(r);
    return std::move(findings_);
  }

 private:
  [[nodiscard]] std::string named(StepId step) const {
    const Step& at = plan_.steps[step.index];
    return describe(graph_, plan_, at) + " (lane " + plan_.lanes[at.lane.index].name + ")";
  }

  /// P3: every op, exactly once, on every micro-batch that has rows or that it must not skip.
  void check_runs(OpId id) {
    const Op& op = graph_.op(id);
    const auto sums = [](const Operand& operand) { return operand.access == Access::kAccumulate; };
    const bool skippable = op.runs == RunsPer::kMicrobatch && op.group.empty() &&
                           std::ranges::none_of(op.operands, sums);
    std::vector<int> times(plan_.microbatches(), 0);
    for (const StepId step : runs_[id.index]) {
      for (const Microbatch mb : plan_.steps[step.index].microbatches) ++times[mb.index];
    }
    for (std::uint32_t mb = 0; mb < plan_.microbatches(); ++mb) {
      const bool may_skip = skippable && plan_.key.empty[mb] != 0;
      if (times[mb] == 1 || (times[mb] == 0 && may_skip)) continue;
      findings_.push_back({kStepLost,
                           op.name + " runs " + std::to_string(times[mb]) +
                               " times on microbatch " + std::to_string(mb),
                           "plan of " + plan_.strategy,
                           "a plan runs every op once: make it again"});
    }
  }

  /// Storages that only a replaced chain touches never materialise.
  [[nodiscard]] bool inside(std::uint32_t resource, const Step& step) const {
    if (step.replacement == kNoReplacement || resource >= graph_.storages().size()) return false;
    const Memory memory = graph_.storages()[resource].memory;
    if (memory == Memory::kInput || memory == Memory::kOutput) return false;
    const auto ops = plan_.ops(step);
    return std::ranges::all_of(graph_.users(resource), [&](OpId user) {
      return std::ranges::find(ops, user) != ops.end();
    });
  }

  void check_resource(std::uint32_t resource) {
    if (!graph_.is_written(resource)) return;
    writes_.clear();
    reads_.clear();
    for (const OpId op : graph_.users(resource)) {
      uses_.clear();
      for (const StepId step : runs_[op.index]) {
        const Step& at = plan_.steps[step.index];
        if (inside(resource, at)) continue;
        for (const Touch& touch : graph_.touches(op)) {
          if (touch.resource != resource) continue;
          const bool own = touch.rows == Rows::kOwn;
          uses_.push_back(
              {step, op, own ? at.microbatches : MicrobatchRange{0, plan_.microbatches()}, touch});
        }
      }
      for (const Use& use : uses_) follow_back(use);
      check_sum();
      for (const Use& use : uses_) remember(use);
    }
  }

  void follow_back(const Use& use) {
    for (const Use& write : std::views::reverse(writes_)) {
      if (!write.meets(use)) continue;
      expect_before(write, use);
      if (write.hides(use)) break;
    }
    if (!use.touch.writes()) return;
    for (const Use& read : reads_) {
      if (read.meets(use)) expect_before(read, use);
    }
  }

  /// What later uses need not be compared with any more, since they follow this one, goes.
  void remember(const Use& use) {
    if (use.touch.writes()) {
      for (Use& read : reads_) use.trim(read);
      std::erase_if(reads_, [](const Use& read) { return read.rows.count() == 0; });
      std::erase_if(writes_, [&](const Use& write) { return use.hides(write); });
    }
    (use.touch.writes() ? writes_ : reads_).push_back(use);
  }

  /// The parts of one sum: in some order, and the one that overwrites comes first.
  void check_sum() {
    const auto adds = [&](const Use& use) {
      return use.touch.access == Access::kAccumulate && !starts_sum(use);
    };
    if (!uses_.empty() && std::ranges::all_of(uses_, adds)) miss(uses_.front(), uses_.front());
    for (const Use& a : uses_) {
      if (a.touch.access != Access::kAccumulate) continue;
      for (const Use& b : uses_) {
        if (a.step == b.step) continue;
        if (starts_sum(a) ? !hb_.before(a.step, b.step) : !hb_.ordered(a.step, b.step)) miss(a, b);
      }
    }
  }

  [[nodiscard]] bool starts_sum(const Use& use) const {
    const auto writes = [&](const Operand& operand) {
      return operand.access == Access::kWrite &&
             graph_.value(operand.value).storage.index == use.touch.resource;
    };
    return std::ranges::any_of(plan_.operands(plan_.steps[use.step.index]), writes);
  }

  void expect_before(const Use& earlier, const Use& later) {
    if (earlier.step != later.step && !hb_.before(earlier.step, later.step)) miss(earlier, later);
  }

  void miss(const Use& earlier, const Use& later) {
    findings_.push_back(
        {kMissingWait,
         named(later.step) + " may start before " + named(earlier.step) +
             " has finished; both access '" + graph_.resource_name(earlier.touch.resource) + "'",
         "plan of " + plan_.strategy, "let the later step wait for the earlier one"});
  }

  const Graph& graph_;
  const Plan& plan_;
  const HappensBefore& hb_;
  std::vector<std::vector<StepId>> runs_;  ///< per op
  std::vector<Use> uses_;                  ///< of the op being looked at
  std::vector<Use> writes_;                ///< of earlier ops
  std::vector<Use> reads_;
  std::vector<Diagnostic> findings_;
};

}  // namespace

std::vector<Diagnostic> verify(const Graph& graph, const Plan& plan, const HappensBefore& hb) {
  return Verifier(graph, plan, hb).run();
}

}  // namespace dynaflow
