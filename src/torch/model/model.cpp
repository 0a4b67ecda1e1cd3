#include "torch/model/model.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty_strided.h>

#include <pthread.h>

#include <algorithm>
#include <atomic>

#include "dynaflow/device/cpu/cpu_device.h"
#include "import/cut/layout.h"
#include "import/inplace/in_place.h"
#include "torch/aten/aten_body.h"
#include "torch/aten/values.h"

namespace dynaflow::model {
namespace {

using capture::Input;
using capture::TensorId;

std::atomic<std::uint32_t>& forks() {
  static std::atomic<std::uint32_t> count{0};
  static const int kRegistered = pthread_atfork(nullptr, nullptr, [] { ++forks(); });
  static_cast<void>(kRegistered);
  return count;
}

Binding binding_of(ValueId value, const at::Tensor& tensor, Binding::Use use) {
  return {value, static_cast<std::byte*>(tensor.data_ptr()),
          static_cast<std::int64_t>(tensor.nbytes()), use,
          static_cast<std::int64_t>(tensor.element_size())};
}

Unexpected refuse(Rule rule, std::string message, std::string where, std::string fix) {
  return Unexpected(Error(Diagnostic{rule, std::move(message), std::move(where), std::move(fix)}));
}

/// Outputs whose size only the run knows have no memory ahead of it.
Result<void> check_outputs(const cut::Cut& cut) {
  for (const capture::Output& output : cut.capture().outputs) {
    if (!output.tensor.valid()) continue;
    const capture::Tensor& tensor = cut.capture().tensor(cut.base[output.tensor.index]);
    const auto unknown = [&](const Extent& size) { return cut.capture().depends_on_data(size); };
    if (std::ranges::any_of(tensor.sizes, unknown)) {
      return refuse(kBadCapture, "output " + tensor.name + " has a size that only the run knows",
                    "capture " + cut.capture().name, "return it padded, or run unscheduled");
    }
  }
  return {};
}

}  // namespace

std::uint32_t Lanes::generation() { return forks().load(); }

std::shared_ptr<Device> Lanes::of_process() {
  static std::mutex mutex;
  static std::uint32_t made = 0;
  static std::shared_ptr<Device>* device = nullptr;  // a parent's lanes are not ours to end
  const std::scoped_lock lock(mutex);
  if (device == nullptr || made != generation()) {
    device = new std::shared_ptr<Device>(std::make_shared<CpuDevice>());
    made = generation();
  }
  return *device;
}

Result<std::shared_ptr<Model>> Model::make(capture::Capture capture,
                                           const std::vector<cut::Rule>& rules,
                                           std::shared_ptr<const OpScheduler> scheduler,
                                           std::vector<at::Tensor> constants,
                                           const rows::Declarations& declarations) {
  rows::Rows rows = rows::find_rows(std::move(capture), declarations);
  const inplace::Undone undone = inplace::update_in_place(rows);
  auto cut = std::make_shared<const cut::Cut>(cut::make_cut(std::move(rows), rules));
  if (auto well = check_outputs(*cut); !well) return Unexpected(well.error());
  auto graph = cut::make_graph(*cut, [&](const cut::Cut&, const cut::Region& region) {
    return std::make_shared<const aten::AtenBody>(cut, region);
  });
  if (!graph) return Unexpected(graph.error());
  return std::shared_ptr<Model>(
      new Model(cut, std::move(*graph), std::move(scheduler), std::move(constants), undone));
}

Model::Model(std::shared_ptr<const cut::Cut> cut, cut::CutGraph graph,
             std::shared_ptr<const OpScheduler> scheduler, std::vector<at::Tensor> constants,
             inplace::Undone undone)
    : cut_(std::move(cut)),
      scheduler_(std::move(scheduler)),
      constants_(std::move(constants)),
      result_of_(cut_->capture().tensors.size(), -1),
      item_of_(cut_->capture().tensors.size(), -1),
      undone_(undone) {
  find_bound(graph);
  find_results(graph);
  graph_ = std::make_shared<const Graph>(std::move(graph.graph));
  agreements_ = std::make_unique<collective::Agreements>(*graph_);
}

CompiledGraph& Model::compiled() {
  const std::scoped_lock lock(mutex_);
  if (compiled_ == nullptr || generation_ != Lanes::generation()) {
    // After a fork, what the parent left may wait for threads that are not here: let it be.
    static_cast<void>(compiled_.release());  // NOLINT(bugprone-unused-return-value)
    device_ = Lanes::of_process();
    generation_ = Lanes::generation();
    compiled_ = std::make_unique<CompiledGraph>(*graph_, scheduler_, *device_);
  }
  return *compiled_;
}

void Model::find_bound(const cut::CutGraph& graph) {
  std::vector<char> written(cut_->capture().tensors.size());
  for (const cut::Region& region : cut_->regions) {
    for (const TensorId tensor : region.updates) written[tensor.index] = 1;
  }
  std::size_t item = 0;
  std::size_t constant = 0;
  for (const Input& input : cut_->capture().inputs) {
    const bool is_constant = input.role == Input::Role::kConstant;
    const std::size_t at = is_constant ? constant++ : item++;
    if (!input.tensor.valid()) continue;
    if (!is_constant) item_of_[input.tensor.index] = static_cast<std::int32_t>(at);
    const ValueId value = graph.values[input.tensor.index];
    if (!value.valid()) continue;
    bound_.push_back(
        {value, at, is_constant ? Bound::From::kConstant : Bound::From::kItem,
         cut::layout_of(cut_->rows, input.tensor).strides,
         written[input.tensor.index] != 0 ? Binding::Use::kWritable : Binding::Use::kReadOnly});
  }
}

void Model::find_results(const cut::CutGraph& graph) {
  const cut::Views views(cut_->capture());
  for (const capture::Output& output : cut_->capture().outputs) {
    Returned& returned = returned_.emplace_back();
    if (!output.tensor.valid()) continue;
    returned.chain = views.chain(cut_->capture(), output.tensor);
    const TensorId base = cut_->base[output.tensor.index];
    if (item_of_[base.index] >= 0 || result_of_[base.index] >= 0) continue;
    result_of_[base.index] = static_cast<std::int32_t>(results_.size());
    results_.push_back({graph.values[base.index], base, cut::layout_of(cut_->rows, base).strides});
  }
}

Batch Model::batch_of(const std::vector<Item>& items, const BatchFacts& facts) const {
  const capture::Capture& capture = cut_->capture();
  Batch batch;
  batch.symbols.resize(capture.symbols.size());
  std::size_t item = 0;
  for (const Input& input : capture.inputs) {
    if (input.role == Input::Role::kConstant) continue;
    const Item& given = items[item++];
    if (input.role != Input::Role::kSymbol) continue;
    const auto& terms = input.symbol.terms();
    if (terms.size() != 1 || terms.front().factors.size() != 1) continue;
    batch.symbols[terms.front().factors.front().index] = std::get<std::int64_t>(given);
  }
  capture.complete(batch.symbols);
  batch.rows = capture.batch().valid() ? batch.symbols[capture.batch().index] : 1;
  batch.requests = facts.requests;
  batch.facts = facts.facts;
  return batch;
}

Result<std::shared_ptr<const Program>> Model::program(const Batch& batch) {
  return compiled().program(batch);
}

Result<at::Tensor> Model::tensor_for(const Bound& bound, const std::vector<Item>& items,
                                     const Batch& batch) const {
  if (bound.from == Bound::From::kConstant) return constants_[bound.item];
  const auto* tensor = std::get_if<at::Tensor>(&items[bound.item]);
  if (tensor == nullptr || !tensor->device().is_cpu() || tensor->layout() != c10::kStrided ||
      tensor->dim() != static_cast<std::int64_t>(bound.strides.size())) {
    return refuse(kBadBinding,
                  "argument " + std::to_string(bound.item) + " is no dense CPU tensor of " +
                      std::to_string(bound.strides.size()) + " dimensions",
                  "Model::run", "pass what was captured");
  }
  bool as_expected = !tensor->is_conj() && !tensor->is_neg();
  for (std::size_t d = 0; d < bound.strides.size(); ++d) {
    const auto dim = static_cast<std::int64_t>(d);
    as_expected = as_expected && (tensor->size(dim) == 1 ||
                                  tensor->stride(dim) == bound.strides[d].evaluate(batch.symbols));
  }
  if (as_expected) return *tensor;
  auto dense = at::empty_strided(tensor->sizes(), aten::evaluate(bound.strides, batch.symbols),
                                 tensor->options());
  dense.copy_(*tensor);
  return dense;
}

Result<Model::Tensors> Model::bind(const std::vector<Item>& items, const Batch& batch) const {
  Tensors tensors;
  tensors.bindings.reserve(bound_.size() + results_.size());
  tensors.inputs.reserve(bound_.size());
  for (const Bound& bound : bound_) {
    auto tensor = tensor_for(bound, items, batch);
    if (!tensor) return Unexpected(tensor.error());
    tensors.inputs.push_back(*std::move(tensor));
    tensors.bindings.push_back(binding_of(bound.value, tensors.inputs.back(), bound.use));
  }
  for (const Memory& memory : results_) {
    const capture::Tensor& tensor = cut_->capture().tensor(memory.tensor);
    tensors.results.push_back(at::empty_strided(
        aten::evaluate(tensor.sizes, batch.symbols), aten::evaluate(memory.strides, batch.symbols),
        at::TensorOptions(aten::to_scalar_type(tensor.dtype))));
    tensors.bindings.push_back(
        binding_of(memory.value, tensors.results.back(), Binding::Use::kWritable));
  }
  return tensors;
}

Result<Stats> Model::launch(const std::shared_ptr<Program>& program, const Batch& batch,
                            const Tensors& tensors, RunOptions options, aten::Caller& caller) {
  options.context = &caller;
  if (!agreements_->are_needed()) return program->run(tensors.bindings, options);
  if (auto whole = agreements_->check_groups(); !whole) return Unexpected(whole.error());
  const auto split = compiled().split(batch);
  if (!split) return Unexpected(split.error());
  const auto texts = agreements_->of(program, *split, batch.symbols);
  collective::RunAgreement agreement(*texts);
  caller.agreement = &agreement;
  if (options.watch.stall_after.count() > 0) {
    options.watch.stall_after = std::max(options.watch.stall_after, 2 * agreements_->timeout());
  }
  auto stats = program->run(tensors.bindings, options);
  caller.agreement = nullptr;
  if (!stats && !stats.error().broke(kRanksDisagree)) {
    agreement.mark_broken("a run ended early: " + stats.error().first().message);
  }
  return stats;
}

Result<std::vector<Item>> Model::run(const std::vector<Item>& items, const BatchFacts& facts,
                                     const RunOptions& options, aten::Caller& caller) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const Batch batch = batch_of(items, facts);
  const auto program = compiled().program(batch);
  if (!program) return Unexpected(program.error());
  const auto tensors = bind(items, batch);
  if (!tensors) return Unexpected(tensors.error());
  const auto stats = launch(*program, batch, *tensors, options, caller);
  if (!stats) return Unexpected(stats.error());
  const std::int64_t copied = finish_inputs(items, *tensors);
  {
    const std::scoped_lock lock(mutex_);
    last_stats_ = *stats;
    last_stats_.copied_bytes += copied;
    last_program_ = *program;
  }
  return give_back(items, batch, *tensors);
}

std::int64_t Model::finish_inputs(const std::vector<Item>& items, const Tensors& tensors) const {
  std::int64_t copied = 0;
  for (std::size_t i = 0; i < bound_.size(); ++i) {
    if (bound_[i].from == Bound::From::kConstant) continue;
    const at::Tensor& seen = tensors.inputs[i];
    const at::Tensor& given = std::get<at::Tensor>(items[bound_[i].item]);
    const bool written = bound_[i].use == Binding::Use::kWritable;
    if (!seen.is_same(given)) {
      copied += static_cast<std::int64_t>(seen.nbytes()) * (written ? 2 : 1);
      if (written) given.copy_(seen);
    }
    // So that autograd notices, as it does when PyTorch itself writes to a tensor.
    if (written && !given.is_inference()) given.unsafeGetTensorImpl()->bump_version();
  }
  return copied;
}

std::vector<Item> Model::give_back(const std::vector<Item>& items, const Batch& batch,
                                   const Tensors& tensors) const {
  const capture::Capture& capture = cut_->capture();
  std::vector<Item> returned;
  returned.reserve(returned_.size());
  for (std::size_t i = 0; i < returned_.size(); ++i) {
    const capture::Output& output = capture.outputs[i];
    if (output.symbol) {
      returned.emplace_back(output.symbol->evaluate(batch.symbols));
    } else if (!output.tensor.valid()) {
      returned.emplace_back();
    } else {
      const std::uint32_t base = cut_->base[output.tensor.index].index;
      const at::Tensor memory =
          result_of_[base] >= 0
              ? tensors.results[static_cast<std::size_t>(result_of_[base])]
              : std::get<at::Tensor>(items[static_cast<std::size_t>(item_of_[base])]);
      returned.emplace_back(view_through(memory, returned_[i].chain, batch.symbols));
    }
  }
  return returned;
}

at::Tensor Model::view_through(at::Tensor base, const std::vector<cut::Views::Link>& chain,
                               const std::vector<std::int64_t>& symbols) const {
  for (const cut::Views::Link& link : chain) {
    const capture::Call& call = cut_->capture().call(link.call);
    const auto handle = c10::Dispatcher::singleton().findSchema({call.op, call.overload});
    const aten::Scope scope{symbols, [&](TensorId) { return base; }};
    torch::jit::Stack stack;
    for (std::size_t a = 0; a < call.arguments.size(); ++a) {
      stack.push_back(
          aten::to_ivalue(call.arguments[a], handle->schema().arguments()[a].real_type(), scope));
    }
    handle->callBoxed(stack);
    base = stack.front().isTensor() ? stack.front().toTensor()
                                    : stack.front().toTensorVector()[link.output];
  }
  return base;
}

Stats Model::last_stats() const {
  const std::scoped_lock lock(mutex_);
  return last_stats_;
}

std::shared_ptr<const Program> Model::last_program() const {
  const std::scoped_lock lock(mutex_);
  return last_program_;
}

}  // namespace dynaflow::model
