#include "torch/model/model.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/CPUAllocator.h>

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

bool is_cpu_tensor(const at::Tensor& tensor, std::size_t dims) {
  return tensor.device().is_cpu() && tensor.layout() == c10::kStrided &&
         tensor.sizes().size() == dims;
}

bool is_laid_out(const at::Tensor& tensor, c10::IntArrayRef strides) {
  if (tensor.is_conj() || tensor.is_neg()) return false;
  if (tensor.strides() == strides) return true;
  for (std::size_t d = 0; d < strides.size(); ++d) {
    if (tensor.sizes()[d] != 1 && tensor.strides()[d] != strides[d]) return false;
  }
  return true;
}

/// The symbol that an input gives a value to, if it is one.
std::optional<SymbolId> symbol_of(const Input& input) {
  const auto& terms = input.symbol.terms();
  if (input.role != Input::Role::kSymbol || terms.size() != 1) return {};
  return terms.front().factors.size() == 1 ? std::optional(terms.front().factors.front())
                                           : std::nullopt;
}

/// Per tensor: its place among others of its kind, if it is of that kind.
using Places = std::vector<std::optional<std::size_t>>;

/// Which of the capture's inputs without its constants each tensor is.
Places arguments_of(const capture::Capture& capture) {
  Places places(capture.tensors.size());
  std::size_t argument = 0;
  for (const Input& input : capture.inputs) {
    if (input.role == Input::Role::kConstant) continue;
    if (input.tensor.valid()) places[input.tensor.index] = argument;
    ++argument;
  }
  return places;
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
      undone_(undone),
      shapes_(CompileOptions{}.programs) {
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
  std::size_t argument = 0;
  std::size_t constant = 0;
  for (const Input& input : cut_->capture().inputs) {
    const bool is_constant = input.role == Input::Role::kConstant;
    const std::size_t at = is_constant ? constant++ : argument++;
    if (const auto symbol = symbol_of(input)) given_.push_back({at, *symbol});
    if (!input.tensor.valid()) continue;
    const ValueId value = graph.values[input.tensor.index];
    if (!value.valid()) continue;
    bound_.push_back(
        {value, at, is_constant ? Bound::From::kConstant : Bound::From::kArgument,
         cut::layout_of(cut_->rows, input.tensor).strides,
         written[input.tensor.index] != 0 ? Binding::Use::kWritable : Binding::Use::kReadOnly});
  }
}

void Model::find_results(const cut::CutGraph& graph) {
  const capture::Capture& capture = cut_->capture();
  const cut::Views views(capture);
  const Places argument_of = arguments_of(capture);
  Places result_of(capture.tensors.size());
  for (const capture::Output& output : capture.outputs) {
    Returned& returned = returned_.emplace_back();
    if (!output.tensor.valid()) continue;
    const TensorId base = cut_->base[output.tensor.index];
    if (!argument_of[base.index] && !result_of[base.index]) {
      result_of[base.index] = results_.size();
      results_.push_back(
          {graph.values[base.index], base, cut::layout_of(cut_->rows, base).strides});
    }
    returned = {result_of[base.index], argument_of[base.index],
                views.chain(capture, output.tensor)};
  }
}

Model::Lent Model::lend() {
  const std::scoped_lock lock(mutex_);
  if (spare_.empty()) return {new Workspace, TakeBack{this}};
  Lent lent(spare_.back().release(), TakeBack{this});
  spare_.pop_back();
  return lent;
}

void Model::take_back(Workspace* lent) {
  lent->release_tensors();
  const std::scoped_lock lock(mutex_);
  spare_.emplace_back(lent);
}

void Model::read_batch(Workspace& work, const BatchFacts& facts) const {
  const capture::Capture& capture = cut_->capture();
  Batch& batch = work.batch;
  batch.symbols.assign(capture.symbols.size(), 0);
  for (const auto& [argument, symbol] : given_) {
    batch.symbols[symbol.index] = std::get<std::int64_t>(work.arguments[argument]);
  }
  capture.complete(batch.symbols);
  batch.rows = capture.batch().valid() ? batch.symbols[capture.batch().index] : 1;
  batch.requests = facts.requests;
  batch.facts = facts.facts;
}

Result<Stats> Model::launch(Workspace& work, const std::shared_ptr<Program>& program,
                            RunOptions options, aten::Caller& caller) {
  options.context = &caller;
  if (!agreements_->are_needed()) return program->run(work.bindings, options);
  if (auto whole = agreements_->check_groups(); !whole) return Unexpected(whole.error());
  const auto split = compiled().split(work.batch);
  if (!split) return Unexpected(split.error());
  const auto texts = agreements_->of(program, *split, work.batch.symbols);
  collective::RunAgreement agreement(*texts);
  caller.agreement = &agreement;
  if (options.watch.stall_after.count() > 0) {
    options.watch.stall_after = std::max(options.watch.stall_after, 2 * agreements_->timeout());
  }
  auto stats = program->run(work.bindings, options);
  caller.agreement = nullptr;
  if (!stats && !stats.error().broke(kRanksDisagree)) {
    agreement.mark_broken("a run ended early: " + stats.error().first().message);
  }
  return stats;
}

Result<void> Model::run(Workspace& work, const RunOptions& options, aten::Caller& caller) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const auto program = compiled().program(work.batch);
  if (!program) return Unexpected(program.error());
  const auto shapes = shapes_for(work.batch.symbols);
  if (auto bound = bind(work, *shapes); !bound) return bound;
  const auto stats = launch(work, *program, options, caller);
  if (!stats) return Unexpected(stats.error());
  const std::int64_t copied = finish_inputs(work);
  {
    const std::scoped_lock lock(mutex_);
    last_stats_ = *stats;
    last_stats_.copied_bytes += copied;
    last_program_ = *program;
  }
  give_back(work, *shapes);
  return {};
}

std::shared_ptr<const Shapes> Model::shapes_for(const std::vector<std::int64_t>& symbols) {
  {
    const std::scoped_lock lock(mutex_);
    if (const auto* known = shapes_.find(symbols)) return *known;
  }
  auto made = std::make_shared<const Shapes>(make_shapes(symbols));  // calls torch: not in the lock
  const std::scoped_lock lock(mutex_);
  return shapes_.put(symbols, std::move(made));
}

Shapes Model::make_shapes(const std::vector<std::int64_t>& symbols) const {
  const capture::Capture& capture = cut_->capture();
  Shapes shapes;
  for (const Bound& bound : bound_) {
    shapes.strides.push_back(aten::evaluate(bound.strides, symbols));
  }
  for (const Memory& memory : results_) {
    const capture::Tensor& tensor = capture.tensor(memory.tensor);
    shapes.results.push_back(make_form(tensor.dtype, aten::evaluate(tensor.sizes, symbols),
                                       aten::evaluate(memory.strides, symbols)));
  }
  for (const Returned& returned : returned_) {
    at::Tensor& form = shapes.outputs.emplace_back();
    if (!returned.result) continue;
    form = view_through(capture, shapes.results[*returned.result], returned.chain, symbols);
  }
  return shapes;
}

Result<void> Model::bind(Workspace& work, const Shapes& shapes) const {
  work.bindings.resize(bound_.size() + results_.size());
  work.dense.resize(bound_.size());
  for (std::size_t i = 0; i < bound_.size(); ++i) {
    const auto bound = bind_input(i, work, shapes);
    if (!bound) return Unexpected(bound.error());
    work.bindings[i] = *bound;
  }
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const at::Tensor& form = shapes.results[i];
    const c10::Storage& memory = work.results.emplace_back(
        c10::Storage::use_byte_size_t(), form.nbytes(), c10::GetCPUAllocator(), /*resizable=*/true);
    work.bindings[bound_.size() + i] = {
        results_[i].value, static_cast<std::byte*>(memory.mutable_data()),
        static_cast<std::int64_t>(form.nbytes()), Binding::Use::kWritable,
        static_cast<std::int64_t>(form.element_size())};
  }
  return {};
}

Result<Binding> Model::bind_input(std::size_t i, Workspace& work, const Shapes& shapes) const {
  const Bound& bound = bound_[i];
  if (bound.from == Bound::From::kConstant) {
    return binding_of(bound.value, constants_[bound.at], bound.use);
  }
  const auto* argument = std::get_if<const at::Tensor*>(&work.arguments[bound.at]);
  const std::vector<std::int64_t>& strides = shapes.strides[i];
  if (argument == nullptr || !is_cpu_tensor(**argument, strides.size())) {
    return refuse(kBadBinding,
                  "argument " + std::to_string(bound.at) + " is no dense CPU tensor of " +
                      std::to_string(strides.size()) + " dimensions",
                  "Model::run", "pass what was captured");
  }
  const at::Tensor& given = **argument;
  if (is_laid_out(given, strides)) return binding_of(bound.value, given, bound.use);
  work.dense[i] = at::empty_strided(given.sizes(), strides, given.options());
  work.dense[i].copy_(given);
  return binding_of(bound.value, work.dense[i], bound.use);
}

std::int64_t Model::finish_inputs(const Workspace& work) const {
  std::int64_t copied = 0;
  for (std::size_t i = 0; i < bound_.size(); ++i) {
    const at::Tensor& dense = work.dense[i];
    const bool written = bound_[i].use == Binding::Use::kWritable;
    if (bound_[i].from == Bound::From::kConstant || (!dense.defined() && !written)) continue;
    const at::Tensor& given = *std::get<const at::Tensor*>(work.arguments[bound_[i].at]);
    if (dense.defined()) {
      copied += static_cast<std::int64_t>(dense.nbytes()) * (written ? 2 : 1);
      if (written) given.copy_(dense);
    }
    // So that autograd notices, as it does when PyTorch itself writes to a tensor.
    if (written && !given.is_inference()) given.unsafeGetTensorImpl()->bump_version();
  }
  return copied;
}

void Model::give_back(Workspace& work, const Shapes& shapes) const {
  const capture::Capture& capture = cut_->capture();
  for (std::size_t i = 0; i < returned_.size(); ++i) {
    const Returned& returned = returned_[i];
    if (returned.result) {
      work.returned.emplace_back(in_memory(shapes.outputs[i], work.results[*returned.result]));
    } else if (returned.argument) {
      const at::Tensor& given = *std::get<const at::Tensor*>(work.arguments[*returned.argument]);
      work.returned.emplace_back(view_through(capture, given, returned.chain, work.batch.symbols));
    } else if (capture.outputs[i].symbol) {
      work.returned.emplace_back(capture.outputs[i].symbol->evaluate(work.batch.symbols));
    } else {
      work.returned.emplace_back();
    }
  }
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
