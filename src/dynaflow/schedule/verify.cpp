#include "dynaflow/schedule/verify.h"

#include <algorithm>
#include <limits>
#include <ranges>
#include <set>
#include <string_view>

#include "dynaflow/graph/chain.h"

namespace dynaflow {
namespace {

/// Keeps every byte count that follows from it from overflow, with room for no machine's memory.
constexpr std::int64_t kMostRows = std::int64_t{1} << 40;
constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();

std::string name_list(const std::vector<Microbatch>& mbs) {
  std::string text = mbs.size() == 1 ? "microbatch " : "microbatches ";
  for (std::size_t i = 0; i < mbs.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(mbs[i].index);
  }
  return text;
}

bool covers(const Touch& outer, const Touch& inner) {
  return outer.begin <= inner.begin && inner.end <= outer.end;
}

/// Without ever adding past `rows`, so that no sum overflows.
bool is_sum_of(std::int64_t rows, const std::vector<std::int64_t>& sizes) {
  for (const std::int64_t size : sizes) {
    if (size < 0 || size > rows) return false;
    rows -= size;
  }
  return rows == 0;
}

class Verifier {
 public:
  Verifier(const Graph& graph, const Schedule& schedule)
      : graph_(graph),
        schedule_(schedule),
        mbs_(schedule.key.microbatches),
        issued_at_(graph.ops().size() * mbs_, kNever),
        findings_(schedule.findings) {}

  std::vector<Diagnostic> run() {
    for (std::uint32_t i = 0; i < schedule_.steps.size(); ++i) check_step(i);
    check_all_run();
    for (std::uint32_t r = 0; r < graph_.resource_count(); ++r) check_resource(r);
    return std::move(findings_);
  }

 private:
  void find(Rule rule, const std::string& message, const ScheduledStep* step, std::string fix) {
    if (!said_.emplace(rule.id, message).second) return;
    std::string where = schedule_.strategy + ".schedule";
    if (step != nullptr) {
      where = to_string(step->where);
    }
    findings_.push_back({rule, message, std::move(where), std::move(fix)});
  }

  [[nodiscard]] const std::string& name(OpId op) const { return graph_.op(op).name; }
  [[nodiscard]] bool once(OpId op) const { return graph_.op(op).runs == RunsPer::kBatch; }
  [[nodiscard]] std::uint32_t& issued_at(OpId op, std::uint32_t mb) {
    return issued_at_[std::size_t{op.index} * mbs_ + mb];
  }

  void check_step(std::uint32_t index) {
    const ScheduledStep& step = schedule_.steps[index];
    if (!check_handles(index)) return;
    check_merge(step);
    check_replacement(step);
    for (const OpId op : step.ops) {
      for (const Microbatch mb : step.microbatches) {
        std::uint32_t& at = issued_at(op, mb.index);
        if (at != kNever) {
          find(kRunTwice,
               name(op) + " on microbatch " + std::to_string(mb.index) +
                   " was already issued on lane " +
                   schedule_.lanes[schedule_.steps[at].lane.index].name,
               &step, "take each op from get_ready_ops once");
        } else {
          at = index;
        }
      }
    }
  }

  bool check_handles(std::uint32_t index) {
    const ScheduledStep& step = schedule_.steps[index];
    const auto bad_op = [&](OpId op) { return op.index >= graph_.ops().size(); };
    const auto bad_mb = [&](Microbatch mb) { return mb.index >= mbs_; };
    const auto bad_step = [&](StepId other) { return other.index >= index; };
    if (step.ops.empty() || std::ranges::any_of(step.ops, bad_op) || step.microbatches.empty() ||
        std::ranges::any_of(step.microbatches, bad_mb)) {
      find(kUnknownOp,
           step.ops.empty() ? "execute was given no op"
                            : "execute was given an op that is not in this graph",
           &step, "pass ops that get_ready_ops of this context returned");
      return false;
    }
    if (step.handles == ScheduledStep::Handles::kForeign ||
        step.lane.index >= schedule_.lanes.size() || std::ranges::any_of(step.after, bad_step)) {
      find(kStaleHandle,
           "execute of " + name(step.ops.front()) +
               " was given an op, a lane or a step of another recording",
           &step,
           "ask this context for ops and lanes in every call of schedule; keep none of them");
      return false;
    }
    return true;
  }

  void check_merge(const ScheduledStep& step) {
    const auto& mbs = step.microbatches;
    for (std::size_t i = 1; i < mbs.size(); ++i) {
      if (mbs[i].index != mbs[i - 1].index + 1) {
        find(kIllegalMerge,
             name(step.ops.front()) + " on " + name_list(mbs) + ": these are not adjacent", &step,
             "merge each of several neighbouring microbatches once");
        return;
      }
    }
    for (const OpId op : step.ops) {
      if (once(op) && mbs.size() != mbs_) {
        find(kIllegalMerge,
             name(op) + " runs once per batch (" + graph_.op(op).runs_reason + ") but was given " +
                 name_list(mbs),
             &step, "execute it with the microbatches get_ready_ops gave it");
      }
      check_unplaced(op, step);
    }
  }

  /// An unplaced value is never sliced: its readers run on the micro-batches it was made for.
  void check_unplaced(OpId op, const ScheduledStep& step) {
    for (const Operand& operand : graph_.op(op).operands) {
      const Value& value = graph_.value(operand.value);
      const Storage& storage = graph_.storage(value.storage);
      if (storage.memory != Memory::kUnplaced || storage.kind != Kind::kSplit) continue;
      const OpId maker = graph_.users(value.storage.index).front();
      const std::uint32_t at = issued_at(maker, step.microbatches.front().index);
      if (maker == op || at == kNever || std::ranges::find(step.ops, maker) != step.ops.end()) {
        continue;  // a missing maker is S5's business
      }
      if (schedule_.steps[at].microbatches != step.microbatches) {
        find(kIllegalMerge,
             name(op) + " on " + name_list(step.microbatches) + " reads the unplaced value '" +
                 value.name + "', which was made on " + name_list(schedule_.steps[at].microbatches),
             &step, "run it on the same microbatches as " + name(maker));
      }
    }
  }

  void check_replacement(const ScheduledStep& step) {
    if (step.replacement == kNoReplacement) {
      if (step.ops.size() > 1) {
        find(kIllegalReplace, "several ops in one step without a replacement", &step,
             "give a replace_func, or execute the ops one by one");
      }
      return;
    }
    const Replacement& func = schedule_.replacements[step.replacement];
    const ChainBoundary chain = chain_boundary(graph_, step.ops);
    const std::span operands(chain.operands);
    if (chain.straddled.valid()) {
      find(kIllegalReplace,
           "the chain of " + func.name + " reads '" + graph_.value(chain.straddled).name +
               "' but writes only a part of it",
           &step, "let the chain make all of the value or none of it");
    }
    if (!func.fault.empty()) {
      find(kIllegalReplace, "replacement " + func.name + ": " + func.fault, &step,
           "write the replacement for what the chain reads and writes");
      return;
    }
    if (!func.kernel && func.body == nullptr) {
      find(kIllegalReplace, "replacement " + func.name + " has no kernel and no body", &step,
           "set Replacement::kernel or Replacement::body");
    }
    if (func.kernel && func.body != nullptr) {
      find(kIllegalReplace, "replacement " + func.name + " has a kernel and a body", &step,
           "set one of Replacement::kernel and Replacement::body");
    }
    check_types(func, "input", func.inputs, operands.first(chain.reads), step);
    check_types(func, "output", func.outputs, operands.subspan(chain.reads), step);
  }

  void check_types(const Replacement& func, const std::string& what, const std::vector<Type>& types,
                   std::span<const Operand> operands, const ScheduledStep& step) {
    if (types.size() != operands.size()) {
      find(kIllegalReplace,
           "replacement " + func.name + " has " + std::to_string(types.size()) + " " + what +
               "s, but the chain has " + std::to_string(operands.size()),
           &step, "state one type per " + what + " of the chain, in the order the chain uses them");
      return;
    }
    for (std::size_t i = 0; i < types.size(); ++i) {
      const Value& value = graph_.value(operands[i].value);
      if (types[i] == value.type) continue;
      find(kIllegalReplace,
           "replacement " + func.name + ": " + what + " " + std::to_string(i) + " is " +
               to_string(types[i], graph_.symbols()) + ", but '" + value.name + "' is " +
               to_string(value.type, graph_.symbols()),
           &step, "write the replacement for the chain's own types");
    }
  }

  /// What was never run says nothing new where the strategy did not come to its end.
  [[nodiscard]] bool ended_early() const {
    return std::ranges::any_of(schedule_.findings, [](const Diagnostic& finding) {
      return finding.rule.id == kNoProgress.id || finding.rule.id == kStrategyFailed.id;
    });
  }

  void check_all_run() {
    if (ended_early()) return;
    for (std::size_t i = 0; i < graph_.ops().size(); ++i) {
      const auto op = id_at<OpId>(i);
      std::vector<Microbatch> missing;
      for (std::uint32_t mb = 0; mb < mbs_; ++mb) {
        if (issued_at(op, mb) == kNever) missing.push_back({mb});
      }
      if (missing.empty()) continue;
      find(kNeverRun, name(op) + " was not executed on " + name_list(missing), nullptr,
           "loop while ctx.unfinished()");
    }
  }

  /// Walks one resource's users in program order: whoever conflicts must be issued in that order.
  void check_resource(std::uint32_t resource) {
    if (!graph_.is_written(resource)) return;
    std::vector<std::pair<OpId, Touch>> writes;
    std::vector<std::pair<OpId, Touch>> reads;
    for (const OpId op : graph_.users(resource)) {
      for (const Touch& touch : graph_.touches(op)) {
        if (touch.resource != resource) continue;
        follow_back(writes, op, touch);
        if (touch.writes()) follow_back(reads, op, touch);
      }
      for (const Touch& touch : graph_.touches(op)) {
        if (touch.resource != resource) continue;
        if (touch.writes()) {  // later writes need to look no further back than this one
          std::erase_if(reads, [&](const auto& read) { return covers(touch, read.second); });
        }
        (touch.writes() ? writes : reads).emplace_back(op, touch);
      }
    }
  }

  /// Compares with earlier accesses, newest first, up to the one that hides all before it.
  void follow_back(const std::vector<std::pair<OpId, Touch>>& earlier, OpId op,
                   const Touch& touch) {
    for (const auto& [before, theirs] : std::views::reverse(earlier)) {
      if (before == op || !theirs.meets(touch)) continue;
      const bool own = theirs.rows == Rows::kOwn && touch.rows == Rows::kOwn;
      check_order(before, op, own && !once(before) && !once(op) ? Rows::kOwn : Rows::kAll);
      if (theirs.writes() && covers(theirs, touch)) return;
    }
  }

  void check_order(OpId before, OpId after, Rows rows) {
    for (std::uint32_t b = 0; b < mbs_; ++b) {
      const std::uint32_t first = rows == Rows::kOwn ? b : 0;
      const std::uint32_t last = rows == Rows::kOwn ? b + 1 : mbs_;
      for (std::uint32_t a = first; a < last; ++a) check_pair(before, b, after, a);
    }
  }

  void check_pair(OpId before, std::uint32_t b, OpId after, std::uint32_t a) {
    const std::uint32_t first = issued_at(before, b);
    const std::uint32_t second = issued_at(after, a);
    // Equal: both are in one fused chain, which runs them in program order.
    if (second == kNever || (first != kNever && first <= second)) return;
    find(kNotReady,
         name(after) + " on microbatch " + std::to_string(a) + " was executed before " +
             name(before) + " on microbatch " + std::to_string(b) + ", which it depends on",
         &schedule_.steps[second],
         "execute only what get_ready_ops offers, and replace only convex chains");
  }

  const Graph& graph_;
  const Schedule& schedule_;
  std::uint32_t mbs_;
  std::vector<std::uint32_t> issued_at_;  ///< per (op, micro-batch), the step
  std::vector<Diagnostic> findings_;
  std::set<std::pair<std::string_view, std::string>> said_;  ///< each finding once
};

}  // namespace

std::vector<Diagnostic> verify(const Batch& batch, const Split& split) {
  if (auto findings = verify(split); !findings.empty()) return findings;
  if (!is_sum_of(batch.rows, split.sizes)) {
    return {{kBatchNotCovered,
             "the split " + to_string(split) + " does not cover the batch of " +
                 std::to_string(batch.rows) + " rows",
             "split(batch)", "return at least one microbatch, with sizes that sum to batch.rows"}};
  }
  if (!batch.requests.empty() && !is_sum_of(batch.rows, batch.requests)) {
    return {{kBatchNotCovered,
             "the batch's requests do not sum to its " + std::to_string(batch.rows) + " rows",
             "Batch::requests", "give the rows of every request, or no requests at all"}};
  }
  return {};
}

std::vector<Diagnostic> verify(const Split& split) {
  std::int64_t left = kMostRows;
  const auto fits = [&](std::int64_t size) {
    return size >= 0 && (left -= std::min(size, left + 1)) >= 0;
  };
  if (!split.sizes.empty() && std::ranges::all_of(split.sizes, fits)) return {};
  return {{kBatchNotCovered, "the split " + to_string(split) + " is not a split of any batch",
           "split(batch)",
           "give at least one microbatch, no negative sizes, and less than 2^40 rows"}};
}

std::vector<Diagnostic> verify(const Graph& graph, const Schedule& schedule) {
  return Verifier(graph, schedule).run();
}

}  // namespace dynaflow
