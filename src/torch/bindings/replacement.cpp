#include "torch/bindings/replacement.h"

#include <algorithm>
#include <stdexcept>

#include "dynaflow/graph/chain.h"
#include "import/cut/layout.h"
#include "torch/bindings/called_function.h"
#include "torch/bindings/errors.h"

namespace py = pybind11;

namespace dynaflow::bindings {
namespace {

/// A region's operands, in the order of its op's.
std::vector<capture::TensorId> operands_of(const cut::Region& region) {
  std::vector<capture::TensorId> tensors = region.reads;
  tensors.insert(tensors.end(), region.updates.begin(), region.updates.end());
  tensors.insert(tensors.end(), region.writes.begin(), region.writes.end());
  return tensors;
}

ChainOperand find_operand(const Graph& graph, const std::vector<OpId>& ops, ValueId value) {
  for (const OpId id : ops) {
    const Op& op = graph.op(id);
    const auto* body = dynamic_cast<const aten::AtenBody*>(op.body.get());
    if (body == nullptr) throw std::invalid_argument("op '" + op.name + "' is not PyTorch's");
    const auto at = std::ranges::find(op.operands, value, &Operand::value);
    if (at == op.operands.end()) continue;
    const cut::Cut& cut = body->cut();
    const auto tensors = operands_of(cut.regions[id.index]);
    return {body, cut.shown[tensors[static_cast<std::size_t>(at - op.operands.begin())].index]};
  }
  throw std::invalid_argument("the chain does not touch '" + graph.value(value).name + "'");
}

std::vector<OpId> chain_of(const std::vector<ReadyOp>& ops) {
  std::vector<OpId> chain;
  for (const ReadyOp& op : ops) {
    if (op.id().valid() && std::ranges::find(chain, op.id()) == chain.end()) {
      chain.push_back(op.id());
    }
  }
  std::ranges::sort(chain);
  return chain;
}

/// Sizes, strides and dtypes: what a trace depends on.
std::string types_of(const std::vector<ChainOperand>& operands, std::size_t reads) {
  std::string text = std::to_string(reads);
  for (const ChainOperand& operand : operands) {
    const capture::Tensor& tensor = operand.captured();
    text += "; " + to_string(tensor.dtype);
    for (const Extent& size : tensor.sizes) text += ' ' + to_string(size);
    text += " by";
    const auto layout = cut::layout_of(operand.body->cut().rows, operand.tensor);
    for (const Extent& stride : layout.strides) text += ' ' + to_string(stride);
  }
  return text;
}

bool is_whole_batch(const ScheduleContext& ctx, const std::vector<ReadyOp>& ops) {
  return std::ranges::all_of(ctx.microbatches(), [&](Microbatch mb) {
    return std::ranges::any_of(ops,
                               [&](const ReadyOp& op) { return op.microbatches().contains(mb); });
  });
}

}  // namespace

const Traced& Replacements::traced(const py::function& function, const std::string& name,
                                   const std::vector<ChainOperand>& operands, std::size_t reads) {
  const Key key(function.ptr(), types_of(operands, reads));
  const auto found = traced_.find(key);
  if (found != traced_.end()) return found->second;
  held_.push_back(function);
  const std::span all(operands);
  Traced traced = trace(function, name, all.first(reads), all.subspan(reads));
  if (!traced.reason.empty()) {
    py::module_::import("logging")
        .attr("getLogger")("dynaflow")
        .attr("info")("replacement %s is called, not traced: %s", name, traced.reason);
  }
  return traced_.emplace(key, std::move(traced)).first->second;
}

Replacement Replacements::make(const ScheduleContext& ctx, const std::vector<ReadyOp>& ops,
                               const py::function& function) {
  const Graph& graph = ctx.graph();
  const std::vector<OpId> chain = chain_of(ops);
  Replacement replacement;
  replacement.name = py::str(py::getattr(function, "__name__", py::str("replacement")));
  const ChainBoundary boundary = chain_boundary(graph, chain);
  std::vector<ChainOperand> operands;
  for (std::size_t i = 0; i < boundary.operands.size(); ++i) {
    const ValueId value = boundary.operands[i].value;
    operands.push_back(find_operand(graph, chain, value));
    auto& types = i < boundary.reads ? replacement.inputs : replacement.outputs;
    types.push_back(graph.value(value).type);
  }
  if (operands.empty()) return replacement;  // S7 says why
  const Traced& traced = this->traced(function, replacement.name, operands, boundary.reads);
  if (!traced.wrong.empty()) {
    replacement.fault = traced.wrong;
  } else if (!traced.couples.empty() && !is_whole_batch(ctx, ops)) {
    replacement.fault = "it mixes rows of different micro-batches: " + traced.couples;
  }
  replacement.body = traced.body ? traced.body : make_called(function, operands);
  return replacement;
}

}  // namespace dynaflow::bindings
