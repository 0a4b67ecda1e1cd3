#include <algorithm>

#include "dynaflow/plan/verify.h"

namespace dynaflow {
namespace {

bool within(Slice slice, std::size_t size) {
  return slice.first <= size && slice.count <= size - slice.first;
}

bool covers(const Value& outer, const Value& inner) {
  return outer.storage == inner.storage && outer.bytes().covers(inner.bytes());
}

bool reads(const Operand& operand) {
  return operand.access == Access::kRead || operand.access == Access::kUpdate;
}

/// A sum's first part is planned as a write.
bool same_access(Access planned, Access declared) {
  return planned == declared || (planned == Access::kWrite && declared == Access::kAccumulate);
}

class StepVerifier {
 public:
  StepVerifier(const Graph& graph, const Plan& plan) : graph_(graph), plan_(plan) {}

  std::vector<Diagnostic> run() {
    if (plan_.lane_steps.size() != plan_.lanes.size() ||
        plan_.key.empty.size() != plan_.microbatches()) {
      find("the plan", "has not one list of steps per lane, or not one size per microbatch");
      return std::move(findings_);
    }
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) check_numbers(i);
    if (findings_.empty()) check_lanes();
    for (std::size_t i = 0; i < plan_.steps.size() && findings_.empty(); ++i) check_operands(i);
    return std::move(findings_);
  }

 private:
  void find(const std::string& who, const std::string& what) {
    findings_.push_back({kBadStep, who + " " + what, "plan of " + plan_.strategy,
                         "make the plan from a schedule: make_plan"});
  }
  [[nodiscard]] std::string named(std::size_t step) const {
    return describe(graph_, plan_, plan_.steps[step]);
  }

  void check_numbers(std::size_t i) {
    const Step& step = plan_.steps[i];
    const std::string who = "step " + std::to_string(i);
    if (step.lane.index >= plan_.lanes.size()) find(who, "is on a lane that is not there");
    if (step.microbatches.count() == 0 || step.microbatches.first >= step.microbatches.last ||
        step.microbatches.last > plan_.microbatches()) {
      find(who, "is on microbatches that are not there");
    }
    if (!within(step.ops, plan_.step_ops.size()) || step.ops.count == 0 ||
        !within(step.operands, plan_.step_operands.size()) || step.reads > step.operands.count ||
        !within(step.waits, plan_.step_waits.size())) {
      return find(who, "points outside the plan's lists");
    }
    const auto no_op = [&](OpId op) { return op.index >= graph_.ops().size(); };
    const auto no_value = [&](const Operand& operand) {
      return operand.value.index >= graph_.values().size();
    };
    const auto no_lane = [&](const Wait& wait) { return wait.lane >= plan_.lanes.size(); };
    if (std::ranges::any_of(plan_.ops(step), no_op) ||
        std::ranges::any_of(plan_.operands(step), no_value) ||
        std::ranges::any_of(plan_.waits(step), no_lane)) {
      find(who, "names an op, a value or a lane that is not there");
    }
    const bool replaced = step.replacement != kNoReplacement;
    if (replaced ? step.replacement >= plan_.replacements.size() : step.ops.count > 1) {
      find(who, "has several ops, or a replacement that is not there");
    }
  }

  void check_lanes() {
    std::vector<int> listed(plan_.steps.size(), 0);
    for (std::size_t lane = 0; lane < plan_.lane_steps.size(); ++lane) {
      for (std::size_t at = 0; at < plan_.lane_steps[lane].size(); ++at) {
        const StepId id = plan_.lane_steps[lane][at];
        if (id.index >= plan_.steps.size()) return find("a lane", "lists a step that is not there");
        const Step& step = plan_.steps[id.index];
        ++listed[id.index];
        if (step.lane.index != lane || step.position != at) {
          find(named(id.index), "is not where its lane lists it");
        }
      }
    }
    for (std::size_t i = 0; i < listed.size(); ++i) {
      if (listed[i] == 0) find(named(i), "is on no lane");
      if (listed[i] > 1) find(named(i), "is listed more than once");
    }
  }

  void check_operands(std::size_t i) {
    const Step& step = plan_.steps[i];
    const auto operands = plan_.operands(step);
    for (std::uint32_t k = 0; k < operands.size(); ++k) {
      if ((operands[k].access == Access::kRead) != (k < step.reads)) {
        return find(named(i), "does not name its reads first");
      }
    }
    const bool right = step.replacement == kNoReplacement
                           ? is_op(operands, graph_.op(plan_.ops(step).front()))
                           : is_chain(operands, plan_.ops(step));
    if (!right) find(named(i), "has other operands than its ops");
  }

  static bool is_op(std::span<const Operand> planned, const Op& op) {
    return std::ranges::equal(planned, op.operands, [](const Operand& a, const Operand& b) {
      return a.value == b.value && same_access(a.access, b.access);
    });
  }

  /// Storages that only the chain touches are inside it.
  [[nodiscard]] bool inside(StorageId storage, std::span<const OpId> ops) const {
    const Memory memory = graph_.storage(storage).memory;
    if (memory == Memory::kInput || memory == Memory::kOutput) return false;
    return std::ranges::all_of(graph_.users(storage.index),
                               [&](OpId user) { return std::ranges::binary_search(ops, user); });
  }

  /// Every value that crosses the chain's border is an operand, and no other one is.
  [[nodiscard]] bool is_chain(std::span<const Operand> planned, std::span<const OpId> ops) const {
    if (!std::ranges::is_sorted(ops)) return false;
    std::vector<std::uint8_t> used(planned.size(), 0);
    std::vector<ValueId> made;
    for (const OpId op : ops) {
      for (const Operand& operand : graph_.op(op).operands) {
        const Value& value = graph_.value(operand.value);
        if (inside(value.storage, ops)) continue;
        const auto is_made = [&](ValueId id) { return covers(graph_.value(id), value); };
        const bool needs = reads(operand) && std::ranges::none_of(made, is_made);
        const bool writes = operand.access != Access::kRead;
        bool read = !needs;
        bool written = !writes;
        for (std::size_t k = 0; k < planned.size(); ++k) {
          if (planned[k].value != operand.value) continue;
          const bool as_read = needs && reads(planned[k]);
          const bool as_write = writes && planned[k].access != Access::kRead;
          read = read || as_read;
          written = written || as_write;
          if (as_read || as_write) used[k] = 1;
        }
        if (!read || !written) return false;
        if (writes) made.push_back(operand.value);
      }
    }
    return std::ranges::all_of(used, [](std::uint8_t one) { return one != 0; });
  }

  const Graph& graph_;
  const Plan& plan_;
  std::vector<Diagnostic> findings_;
};

}  // namespace

std::vector<Diagnostic> verify_steps(const Graph& graph, const Plan& plan) {
  return StepVerifier(graph, plan).run();
}

}  // namespace dynaflow
