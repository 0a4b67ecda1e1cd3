#include "dynaflow/plan/plan.h"

#include <algorithm>

namespace dynaflow {
namespace {

constexpr std::size_t kPageWidth = 110;

std::string range(MicrobatchRange mbs) {
  const std::string first = std::to_string(mbs.first);
  return mbs.count() == 1 ? first : first + "-" + std::to_string(mbs.last - 1);
}

std::string op_names(const Graph& graph, const Plan& plan, const Step& step) {
  std::string text;
  for (const OpId op : plan.ops(step)) text += (text.empty() ? "" : "+") + graph.op(op).name;
  if (step.replacement == kNoReplacement) return text;
  return plan.replacements[step.replacement].name + "[" + text + "]";
}

/// Steps laid out in columns: each right of its lane's previous step and of all it waits for.
class Picture {
 public:
  Picture(const Graph& graph, const Plan& plan) : graph_(graph), plan_(plan) {
    columns_.reserve(plan.steps.size());
    for (const Step& step : plan.steps) place(step);
  }

  [[nodiscard]] std::string text() const {
    std::string page;
    for (std::size_t first = 0; first < widths_.size();) {
      std::size_t last = first;
      std::size_t width = 0;
      while (last < widths_.size() && (last == first || width + widths_[last] < kPageWidth)) {
        width += widths_[last++];
      }
      if (first > 0) page += '\n';
      for (std::size_t lane = 0; lane < plan_.lanes.size(); ++lane) page += line(lane, first, last);
      first = last;
    }
    return page;
  }

 private:
  [[nodiscard]] std::string cell(const Step& step) const {
    std::string text = label(graph_, plan_, step);
    for (const Wait& wait : plan_.waits(step)) {
      const StepId before = plan_.lane_steps[wait.lane][wait.count - 1];
      text += " <" + label(graph_, plan_, plan_.steps[before.index]);
    }
    return text;
  }

  void place(const Step& step) {
    std::size_t column = 0;
    const auto after = [&](StepId before) {
      if (before.index >= columns_.size()) return;  // only in a plan that verify refuses
      column = std::max(column, columns_[before.index] + 1);
    };
    if (step.position > 0) after(plan_.lane_steps[step.lane.index][step.position - 1]);
    for (const Wait& wait : plan_.waits(step)) after(plan_.lane_steps[wait.lane][wait.count - 1]);
    columns_.push_back(column);
    if (widths_.size() <= column) widths_.resize(column + 1, 0);
    widths_[column] = std::max(widths_[column], cell(step).size() + 3);
  }

  [[nodiscard]] std::string line(std::size_t lane, std::size_t first, std::size_t last) const {
    std::size_t name_width = 0;
    for (const LaneRequest& each : plan_.lanes) {
      name_width = std::max(name_width, each.name.size());
    }
    std::string cells;
    std::size_t at = first;
    for (const StepId id : plan_.lane_steps[lane]) {
      const std::size_t column = columns_[id.index];
      if (column < first || column >= last) continue;
      for (; at < column; ++at) cells += std::string(widths_[at], ' ');
      const std::string text = cell(plan_.steps[id.index]);
      cells += text + std::string(widths_[at++] - text.size(), ' ');
    }
    const std::string& name = plan_.lanes[lane].name;
    std::string text = "  " + name + std::string(name_width - name.size(), ' ') + " | " + cells;
    text.erase(text.find_last_not_of(' ') + 1);
    return text + '\n';
  }

  const Graph& graph_;
  const Plan& plan_;
  std::vector<std::size_t> columns_;  ///< per step
  std::vector<std::size_t> widths_;   ///< per column
};

std::string counted(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace

const Body* body_of(const Graph& graph, const Plan& plan, const Step& step) {
  return step.replacement == kNoReplacement ? graph.op(plan.ops(step).front()).body.get()
                                            : plan.replacements[step.replacement].body.get();
}

const Kernel& kernel_of(const Graph& graph, const Plan& plan, const Step& step) {
  return step.replacement == kNoReplacement ? graph.op(plan.ops(step).front()).kernel
                                            : plan.replacements[step.replacement].kernel;
}

std::string label(const Graph& graph, const Plan& plan, const Step& step) {
  return op_names(graph, plan, step) + "." + range(step.microbatches);
}

std::string describe(const Graph& graph, const Plan& plan, const Step& step) {
  return op_names(graph, plan, step) +
         (step.microbatches.count() == 1 ? " on microbatch " : " on microbatches ") +
         range(step.microbatches);
}

std::string to_string(const Plan& plan, const Graph& graph) {
  return "plan  " +
         (plan.microbatches() == 1 ? std::string("1 microbatch")
                                   : std::to_string(plan.microbatches()) + " microbatches") +
         ", " + counted(plan.lanes.size(), "lane") + ", " + counted(plan.steps.size(), "step") +
         ", " + counted(plan.step_waits.size(), "wait") + "\n" + Picture(graph, plan).text();
}

}  // namespace dynaflow
