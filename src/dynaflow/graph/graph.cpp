#include "dynaflow/graph/graph.h"

#include <algorithm>

namespace dynaflow {
namespace {

std::string names_of(const Graph& graph, std::span<const Operand> operands) {
  std::string text;
  for (const Operand& operand : operands) {
    text += text.empty() ? "" : ", ";
    text += graph.value(operand.value).name;
    if (operand.access == Access::kUpdate) text += " (in place)";
    if (operand.access == Access::kAccumulate) text += " (sum)";
  }
  return text;
}

std::string effects_of(const Graph& graph, const Op& op) {
  std::string text;
  for (const Effect& effect : op.effects) {
    text += effect.access == Access::kRead ? "  reads state " : "  writes state ";
    text += graph.states()[effect.state.index];
    if (effect.rows == Rows::kAll) text += " (all rows)";
  }
  return text;
}

}  // namespace

bool Op::has_tag(std::string_view tag) const {
  return std::find(tags.begin(), tags.end(), tag) != tags.end();
}

const std::string& Graph::resource_name(std::uint32_t resource) const {
  return resource < storages_.size() ? storages_[resource].name
                                     : states_[resource - storages_.size()];
}

std::span<const Touch> Graph::touches(OpId id) const { return touches_.row(id.index); }

std::span<const OpId> Graph::users(std::uint32_t resource) const { return users_.row(resource); }

std::span<const Dependency> Graph::predecessors(OpId id) const {
  return predecessors_.row(id.index);
}

std::span<const Dependency> Graph::successors(OpId id) const { return successors_.row(id.index); }

std::string to_string(const Graph& graph) {
  std::string text = "graph " + graph.name() + "  " + std::to_string(graph.ops().size()) +
                     " ops, " + std::to_string(graph.values().size()) + " values\n";
  std::size_t width = 0;
  for (const Op& op : graph.ops()) width = std::max(width, op.name.size());
  for (const Op& op : graph.ops()) {
    const std::span operands(op.operands);
    text += "  " + op.name + std::string(width - op.name.size(), ' ') + " : ";
    text += names_of(graph, operands.first(op.reads)) + " -> ";
    text += names_of(graph, operands.subspan(op.reads)) + effects_of(graph, op);
    for (const std::string& tag : op.tags) text += "  #" + tag;
    if (op.runs == RunsPer::kBatch) text += "  once per batch: " + op.runs_reason;
    text += '\n';
  }
  return text;
}

}  // namespace dynaflow
