#include "dynaflow/schedule/schedule.h"

#include <algorithm>

namespace dynaflow {

bool Schedule::Key::matches(const Split& split) const {
  if (split.count() != microbatches) return false;
  for (std::size_t i = 0; i < split.sizes.size(); ++i) {
    if ((split.sizes[i] == 0) != (empty[i] != 0)) return false;
  }
  return std::ranges::all_of(
      rows_read, [&](const auto& read) { return split.sizes[read.first] == read.second; });
}

std::string to_string(const Where& where) {
  return std::string(where.function) + ", " + where.file + ":" + std::to_string(where.line);
}

std::string to_string(const Schedule& schedule, const Graph& graph) {
  std::string text = "schedule " + schedule.strategy + "  " +
                     std::to_string(schedule.key.microbatches) +
                     (schedule.key.microbatches == 1 ? " microbatch, " : " microbatches, ") +
                     std::to_string(schedule.steps.size()) + " steps\n";
  for (const ScheduledStep& step : schedule.steps) {
    text += "  ";
    for (const OpId op : step.ops) {
      text += op.index < graph.ops().size() ? graph.op(op).name : "?";
      text += op == step.ops.back() ? "" : "+";
    }
    for (const Microbatch mb : step.microbatches) text += " ." + std::to_string(mb.index);
    if (step.lane.index < schedule.lanes.size()) {
      text += "  on " + schedule.lanes[step.lane.index].name;
    }
    if (step.replacement != kNoReplacement) {
      text += "  as " + schedule.replacements[step.replacement].name;
    }
    text += '\n';
  }
  return text;
}

}  // namespace dynaflow
