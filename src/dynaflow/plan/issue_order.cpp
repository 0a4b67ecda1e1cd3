#include "dynaflow/plan/issue_order.h"

#include <map>
#include <string_view>

namespace dynaflow {

IssueOrder::IssueOrder(const Graph& graph, const Plan& plan) : of_step_(plan.steps.size()) {
  std::map<std::string_view, std::uint32_t> known;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const auto id = id_at<StepId>(i);
    Slice& own = of_step_[i];
    own.first = static_cast<std::uint32_t>(places_.size());
    for (const OpId op : plan.ops(plan.steps[i])) {
      const std::string& name = graph.op(op).group;
      if (name.empty()) continue;
      const auto [found, added] = known.try_emplace(name, static_cast<std::uint32_t>(groups()));
      if (added) steps_.emplace_back();
      std::vector<StepId>& steps = steps_[found->second];
      if (!steps.empty() && steps.back() == id) continue;
      places_.push_back({found->second, static_cast<std::uint32_t>(steps.size())});
      ++own.count;
      steps.push_back(id);
    }
  }
}

}  // namespace dynaflow
