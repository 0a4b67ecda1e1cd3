#include <algorithm>

#include "dynaflow/placement/placement.h"

namespace dynaflow {
namespace {

/// Per lane, how many bytes must be in the arena at each of its steps.
class Load {
 public:
  Load(const Plan& plan, const HappensBefore& hb) : plan_(plan), hb_(hb) {
    for (const auto& steps : plan.lane_steps) change_.emplace_back(steps.size() + 1, 0);
  }

  /// A buffer's bytes are needed by the steps that touch it and by every step between two of them.
  void add(const std::vector<StepId>& uses, std::int64_t bytes) {
    for (std::size_t lane = 0; lane < change_.size(); ++lane) {
      const auto& steps = plan_.lane_steps[lane];
      auto first = static_cast<std::uint32_t>(steps.size());
      std::uint32_t last = 0;  // exclusive
      for (const StepId use : uses) {
        const Step& step = plan_.steps[use.index];
        if (step.lane.index == lane) {
          first = std::min(first, step.position);
          last = std::max(last, step.position + 1);
        }
        const auto known = [&](StepId other) { return hb_.before(use, other); };
        const auto after =
            std::ranges::partition_point(steps, [&](StepId other) { return !known(other); });
        first = std::min(first, static_cast<std::uint32_t>(after - steps.begin()));
        last = std::max(last, hb_.known_at(use)[lane]);
      }
      if (first >= last) continue;
      change_[lane][first] += bytes;
      change_[lane][last] -= bytes;
    }
  }

  [[nodiscard]] std::int64_t peak() const {
    std::int64_t most = 0;
    for (const auto& changes : change_) {
      std::int64_t now = 0;
      for (const std::int64_t change : changes) most = std::max(most, now += change);
    }
    return most;
  }

 private:
  const Plan& plan_;
  const HappensBefore& hb_;
  std::vector<std::vector<std::int64_t>> change_;
};

}  // namespace

std::int64_t must_be_live(const Graph& graph, const Plan& plan, const Buffers& buffers,
                          const Placement& placement, const HappensBefore& hb) {
  std::vector<std::vector<StepId>> uses(buffers.items.size());
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const Slice operands = plan.steps[i].operands;
    for (std::uint32_t k = operands.first; k < operands.first + operands.count; ++k) {
      uses[buffers.of_operand[k].index].push_back(id_at<StepId>(i));
    }
    if (buffers.scratch[i].valid()) uses[buffers.scratch[i].index].push_back(id_at<StepId>(i));
  }
  Load load(plan, hb);
  for (std::size_t i = 0; i < buffers.items.size(); ++i) {
    if (!in_arena(graph, buffers.items[i]) || placement.sizes[i] == 0) continue;
    load.add(uses[i], placement.sizes[i]);
  }
  return load.peak();
}

}  // namespace dynaflow
