#include <algorithm>

#include "dynaflow/graph/builder.h"
#include "import/cut/cut.h"
#include "import/cut/labels.h"
#include "import/cut/layout.h"

namespace dynaflow::cut {
namespace {

using capture::TensorId;
using Runs = rows::CallRows::Runs;

class GraphMaker {
 public:
  GraphMaker(const Cut& cut, const BodyFactory& make_body)
      : cut_(cut),
        make_body_(make_body),
        builder_(cut.capture().name),
        values_(cut.capture().tensors.size()),
        bodies_(cut.bodies) {}

  Result<CutGraph> make() {
    if (auto well = check_locals(); !well) return Unexpected(well.error());
    for (const capture::Symbol& symbol : cut_.capture().symbols) builder_.symbol(symbol.name);
    random_ = builder_.state("random");
    add_inputs();
    for (const Region& region : cut_.regions) add_op(region);
    add_outputs();
    auto graph = builder_.build();
    if (!graph) return Unexpected(graph.error());
    return CutGraph{std::move(*graph), std::move(values_)};
  }

 private:
  /// What is right only together with its micro-batch must not leave its region.
  [[nodiscard]] Result<void> check_locals() const {
    for (const Region& region : cut_.regions) {
      for (const TensorId tensor : region.writes) {
        if (region.runs == RunsPer::kBatch) continue;
        if (cut_.rows.tensors[tensor.index].kind == rows::Carry::Kind::kSplit) continue;
        return Unexpected(Error(Diagnostic{
            kBadCapture,
            "tensor " + cut_.capture().tensor(tensor).name + " leaves op " + region.name +
                ", but means something only inside it",
            "capture " + cut_.capture().name, "cut elsewhere, so that one op makes and uses it"}));
      }
    }
    return {};
  }

  [[nodiscard]] ValueSpec spec_of(TensorId id) const {
    const capture::Tensor& tensor = cut_.capture().tensor(id);
    const Layout layout = layout_of(cut_.rows, id);
    const bool split = cut_.rows.tensors[id.index].kind == rows::Carry::Kind::kSplit;
    ValueSpec spec;
    spec.name = tensor.name;
    spec.type = {split ? Kind::kSplit : Kind::kWhole, tensor.dtype, layout.elements};
    spec.blocks = layout.blocks;
    return spec;
  }

  /// Only inputs that some op looks at: the others need not be bound.
  void add_inputs() {
    std::vector<char> used(values_.size());
    for (const Region& region : cut_.regions) {
      for (const TensorId tensor : region.reads) used[tensor.index] = 1;
      for (const TensorId tensor : region.updates) used[tensor.index] = 1;
    }
    for (const capture::Input& input : cut_.capture().inputs) {
      if (!input.tensor.valid() || used[input.tensor.index] == 0) continue;
      values_[input.tensor.index] = builder_.input(spec_of(input.tensor));
    }
  }

  [[nodiscard]] std::vector<ValueId> values_of(const std::vector<TensorId>& tensors) const {
    std::vector<ValueId> values;
    values.reserve(tensors.size());
    for (const TensorId tensor : tensors) values.push_back(values_[tensor.index]);
    return values;
  }

  void add_op(const Region& region) {
    for (const TensorId tensor : region.writes) {
      values_[tensor.index] = builder_.value(spec_of(tensor));
    }
    auto& body = bodies_[region.body];
    if (!body) body = make_body_(cut_, region);
    OpSpec spec;
    spec.name = region.name;
    spec.reads = values_of(region.reads);
    spec.updates = values_of(region.updates);
    spec.writes = values_of(region.writes);
    spec.tags = region.tags;
    spec.cost = cost_of(region);
    spec.group = region.group;
    spec.coupling = region.runs == RunsPer::kBatch ? Coupling::kCoupled : Coupling::kRowWise;
    spec.body = body;
    if (draws(region)) spec.effects.push_back({random_, Access::kUpdate, Rows::kAll});
    builder_.op(std::move(spec));
  }

  [[nodiscard]] bool draws(const Region& region) const {
    return std::ranges::any_of(region.calls, [&](capture::CallId id) {
      return cut_.rows.calls[id.index].runs == Runs::kDrawn;
    });
  }

  [[nodiscard]] CostClass cost_of(const Region& region) const {
    if (!region.group.empty() || std::ranges::find(region.tags, "network") != region.tags.end()) {
      return CostClass::kNetwork;
    }
    const bool computes = std::ranges::any_of(region.calls, [&](capture::CallId id) {
      const std::string& op = cut_.capture().call(id).op;
      return op.find("mm") != std::string::npos || op.find("conv") != std::string::npos ||
             op.find("attention") != std::string::npos || op.find("linear") != std::string::npos;
    });
    return computes ? CostClass::kCompute : CostClass::kMemory;
  }

  /// Each memory once, however many outputs look at it; inputs that come back are no outputs.
  void add_outputs() {
    std::vector<char> done(values_.size());
    for (const capture::Input& input : cut_.capture().inputs) {
      if (input.tensor.valid()) done[input.tensor.index] = 1;
    }
    for (const capture::Output& output : cut_.capture().outputs) {
      if (!output.tensor.valid()) continue;
      const TensorId base = cut_.base[output.tensor.index];
      if (std::exchange(done[base.index], 1) == 0) builder_.output(values_[base.index]);
    }
  }

  const Cut& cut_;
  const BodyFactory& make_body_;
  GraphBuilder builder_;
  std::vector<ValueId> values_;
  std::vector<std::shared_ptr<const Body>> bodies_;
  StateId random_;
};

}  // namespace

Result<CutGraph> make_graph(const Cut& cut, const BodyFactory& make_body) {
  return GraphMaker(cut, make_body).make();
}

}  // namespace dynaflow::cut
