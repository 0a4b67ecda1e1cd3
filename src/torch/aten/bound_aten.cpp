#include "torch/aten/bound_aten.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/copy.h>
#include <ATen/record_function.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "import/cut/views.h"
#include "torch/aten/caller.h"
#include "torch/aten/current_step.h"
#include "torch/aten/lane_team.h"
#include "torch/aten/operand.h"

namespace dynaflow::aten {
namespace {

using capture::Argument;
using capture::TensorId;
using Form = AtenBody::Form;
using Place = AtenBody::Place;

/// Nothing but kernels: no autograd, no autocast.
struct KernelsOnly {
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  c10::impl::ExcludeDispatchKeyGuard no_autocast{c10::autocast_dispatch_keyset};
};

/// The tensors that a call returned, in order; lists are flattened as the Capture has them.
void for_each_result(const torch::jit::Stack& stack, auto&& f) {
  for (const c10::IValue& value : stack) {
    if (value.isTensorList()) {
      for (const at::Tensor& tensor : value.toTensorVector()) f(tensor);
    } else {
      f(value.isTensor() ? value.toTensor() : at::Tensor());
    }
  }
}

}  // namespace

BoundAten::BoundAten(const AtenBody& body, const BindArgs& args)
    : body_(body), reads_(args.reads), skips_(body.skips(args)) {
  if (skips_) return;
  const KernelsOnly kernels;
  symbols_ = body.symbols(args);
  scratch_ = make_scratch(body, args);
  tensors_.resize(body.slots().size());
  make_operands(args);
  make_scratch_tensors();
  for (const AtenBody::Instruction& instruction : body.instructions()) {
    try {
      add(instruction);
    } catch (const std::exception& failure) {
      throw std::runtime_error(instruction.call->name() + ": " + message_of(failure));
    }
  }
  for (const Copy& copy : copies_) {
    copied_bytes_ +=
        (copy.read ? copy.dense.nbytes() : 0) + (copy.written ? copy.dense.nbytes() : 0);
  }
}

const capture::Tensor& BoundAten::captured(std::uint32_t slot) const {
  return body_.cut().capture().tensor(body_.slots()[slot].tensor);
}

Scope BoundAten::scope() const {
  return {symbols_, [this](TensorId tensor) { return tensors_[body_.slot_of(tensor)]; }};
}

void BoundAten::make_operands(const BindArgs& args) {
  for (const View& view : args.views) storages_.push_back(make_storage(extent_of(view)));
  storages_.push_back(make_storage(scratch_.bytes));
  addresses_.assign(storages_.size(), nullptr);
  for (std::uint32_t slot = 0; slot < tensors_.size(); ++slot) {
    if (body_.slots()[slot].place == Place::kGiven) take_given(slot);
    if (body_.slots()[slot].place != Place::kOperand) continue;
    const std::uint32_t operand = body_.slots()[slot].operand;
    const bool written = operand >= args.reads;
    if (scratch_.offsets[slot] >= 0) {
      make_copy(slot, args.views[operand], written);
    } else {
      make_operand(slot, args.views[operand]);
    }
  }
}

void BoundAten::take_given(std::uint32_t slot) {
  tensors_[slot] = body_.given(slot);
  given_.push_back({tensors_[slot], tensors_[slot].storage()});
}

void BoundAten::make_operand(std::uint32_t slot, const View& view) {
  const AtenBody::Slot& of = body_.slots()[slot];
  tensors_[slot] =
      make_tensor(storages_[of.operand], view.dtype, evaluate(captured(slot).sizes, symbols_),
                  evaluate(of.strides, symbols_), 0);
}

void BoundAten::make_copy(std::uint32_t slot, const View& view, bool written) {
  const c10::Storage& scratch = storages_.back();
  const std::int64_t at = scratch_.offsets[slot];
  tensors_[slot] = make_tensor(scratch, view.dtype, evaluate(captured(slot).sizes, symbols_),
                               evaluate(body_.slots()[slot].strides, symbols_), at);
  const std::int64_t bytes = size_of(view.dtype);
  const std::int64_t rest = view.row_stride / bytes;
  const std::vector<std::int64_t> sizes{view.blocks, view.rows, rest};
  const std::int64_t operand = body_.slots()[slot].operand;
  const bool updated = written && operand < static_cast<std::int64_t>(reads_ + body_.updates());
  copies_.push_back({make_tensor(storages_[static_cast<std::size_t>(operand)], view.dtype, sizes,
                                 {view.block_stride / bytes, rest, 1}, 0),
                     make_tensor(scratch, view.dtype, sizes, {view.rows * rest, rest, 1}, at),
                     !written || updated, written});
}

void BoundAten::make_scratch_tensors() {
  for (std::uint32_t slot = 0; slot < tensors_.size(); ++slot) {
    if (body_.slots()[slot].place != Place::kScratch) continue;
    const capture::Tensor& tensor = captured(slot);
    tensors_[slot] =
        make_tensor(storages_.back(), tensor.dtype, evaluate(tensor.sizes, symbols_),
                    evaluate(body_.slots()[slot].strides, symbols_), scratch_.offsets[slot]);
  }
}

bool BoundAten::is_late(const Argument& argument) const {
  bool late = false;
  capture::for_each_tensor(argument, [&](TensorId tensor) {
    late = late || body_.slots()[body_.slot_of(tensor)].place == Place::kLate;
  });
  const auto depends = [&](const Argument& item) {
    const auto size = item.size();
    return size && body_.cut().capture().depends_on_data(*size);
  };
  return late || depends(argument) || std::ranges::any_of(argument.list(), depends);
}

BoundAten::Step BoundAten::make_step(const AtenBody::Instruction& instruction,
                                     const c10::OperatorHandle& handle,
                                     std::span<const Argument> arguments) const {
  Step step;
  step.instruction = &instruction;
  step.handle = &handle;
  const auto& parameters = handle.schema().arguments();
  for (std::uint32_t i = 0; i < arguments.size(); ++i) {
    const c10::TypePtr& type = parameters[i].real_type();
    if (is_late(arguments[i])) {
      step.patches.push_back({i, &arguments[i], type});
      step.arguments.emplace_back();
    } else {
      step.arguments.push_back(to_ivalue(arguments[i], type, scope()));
    }
  }
  return step;
}

void BoundAten::evaluate_now(const AtenBody::Instruction& instruction) {
  const Step step =
      make_step(instruction, instruction.op.functional(), instruction.call->arguments);
  torch::jit::Stack stack = step.arguments;
  step.handle->callBoxed(stack);
  std::size_t output = 0;
  for_each_result(stack, [&](const at::Tensor& result) {
    const std::uint32_t slot = instruction.outputs[output++];
    if (slot == AtenBody::kNoSlot) return;
    if (body_.slots()[slot].place == Place::kOperand) {
      add_copy_out(slot, result);
    } else {
      tensors_[slot] = result;
    }
  });
}

/// A constant that others read: their memory is written anew in each run.
void BoundAten::add_copy_out(std::uint32_t slot, const at::Tensor& from) {
  static const c10::OperatorHandle kCopy =
      c10::Dispatcher::singleton().findSchemaOrThrow("aten::copy_", "");
  Step step;
  step.handle = &kCopy;
  step.arguments = {tensors_[slot], from, false};
  steps_.push_back(std::move(step));
}

bool BoundAten::is_late_view(const AtenBody::Instruction& instruction) const {
  return std::ranges::any_of(instruction.outputs, [&](std::uint32_t slot) {
    return slot != AtenBody::kNoSlot && body_.slots()[slot].place == Place::kLate;
  });
}

void BoundAten::add(const AtenBody::Instruction& instruction) {
  static const c10::OperatorHandle kCopy =
      c10::Dispatcher::singleton().findSchemaOrThrow("aten::copy_", "");
  const auto& arguments = instruction.call->arguments;
  switch (instruction.form) {
    case Form::kConstant:
      evaluate_now(instruction);
      return;
    case Form::kView:
      if (!is_late_view(instruction)) {
        evaluate_now(instruction);
        return;
      }
      break;
    case Form::kCopy: {
      const std::array<Argument, 2> pair{Argument{body_.slots()[instruction.outputs[0]].tensor},
                                         arguments[0]};
      Step step = make_step(instruction, kCopy, pair);
      if (!step.patches.empty()) step.patches.front().argument = &arguments[0];
      step.arguments.emplace_back(false);
      steps_.push_back(std::move(step));
      return;
    }
    case Form::kInto: {
      Step step = make_step(instruction, *instruction.op.into(), arguments);
      for (const std::uint32_t slot : instruction.outputs)
        step.arguments.emplace_back(tensors_[slot]);
      steps_.push_back(std::move(step));
      return;
    }
    case Form::kInPlace:
    case Form::kFresh:
      break;
  }
  Step step = make_step(instruction, instruction.op.functional(), arguments);
  step.results = Step::Results::kKept;
  if (instruction.call->has_tag("python")) ++python_calls_;
  if (instruction.form == Form::kFresh) ++allocations_;
  steps_.push_back(std::move(step));
}

void BoundAten::point_operands(const KernelArgs& args) {
  for (std::size_t i = 0; i < args.views.size(); ++i) {
    if (args.views[i].data == addresses_[i]) continue;
    addresses_[i] = args.views[i].data;
    point(storages_[i], addresses_[i]);
  }
  if (args.scratch.data() != addresses_.back()) {
    addresses_.back() = args.scratch.data();
    point(storages_.back(), addresses_.back());
  }
}

void BoundAten::check_given() const {
  for (const Given& given : given_) {
    if (given.tensor.storage().is_alias_of(given.storage)) continue;
    throw std::runtime_error(
        "a tensor that the replacement closes over has other memory than when it was traced: "
        "change it in place, or compile again");
  }
}

void BoundAten::run(const KernelArgs& args) {
  if (skips_) return;
  const CallersProfiler profiler(args.context);
  const KernelsOnly kernels;
  // torch sets a mode in Python for the first call of what it compiled: kernels need none of it.
  std::optional<c10::impl::ExcludeDispatchKeyGuard> no_python;
  if (python_calls_ == 0) no_python.emplace(c10::python_ks);
  const LaneTeam team(args.cores);
  const CurrentStep step_now(args);
  RECORD_FUNCTION(std::string(args.name), std::vector<c10::IValue>());
  point_operands(args);
  check_given();
  for (const Copy& copy : copies_) {
    if (copy.read) copy.dense.copy_(copy.strided);
  }
  for (const Step& step : steps_) run_step(step);
  for (const Copy& copy : copies_) {
    if (copy.written) copy.strided.copy_(copy.dense);
  }
  args.counts->copied_bytes += copied_bytes_;
  args.counts->python_calls += python_calls_;
  args.counts->allocations += allocations_;
}

void BoundAten::run_step(const Step& step) {
  stack_.assign(step.arguments.begin(), step.arguments.end());
  try {
    for (const Patch& patch : step.patches) {
      stack_[patch.position] = to_ivalue(*patch.argument, patch.type, scope());
    }
    step.handle->callBoxed(stack_);
    if (step.results == Step::Results::kKept) keep_results(step);
  } catch (const Failure&) {
    stack_.clear();
    throw;
  } catch (const std::exception& failure) {
    stack_.clear();
    throw std::runtime_error(step.handle->schema().name() + ": " + message_of(failure));
  }
  stack_.clear();
  if (step.instruction == nullptr) return;
  for (const std::uint32_t slot : step.instruction->dies) tensors_[slot].reset();
}

void BoundAten::keep_results(const Step& step) {
  std::size_t output = 0;
  const auto& outputs = step.instruction->outputs;
  for_each_result(stack_, [&](const at::Tensor& result) {
    if (output >= outputs.size()) return;
    const std::uint32_t slot = outputs[output++];
    if (slot != AtenBody::kNoSlot && result.defined()) keep(slot, result);
  });
}

void BoundAten::keep(std::uint32_t slot, at::Tensor result) {
  switch (body_.slots()[slot].place) {
    case Place::kOperand:
      // An in-place call returns the operand itself.
      if (result.unsafeGetTensorImpl() != tensors_[slot].unsafeGetTensorImpl()) {
        tensors_[slot].copy_(result);
      }
      return;
    case Place::kLate:
      learn_sizes(slot, result);
      tensors_[slot] = std::move(result);
      return;
    case Place::kScratch:
    case Place::kBound:
    case Place::kGiven:
      return;
  }
}

void BoundAten::learn_sizes(std::uint32_t slot, const at::Tensor& tensor) {
  const capture::Capture& capture = body_.cut().capture();
  const auto& sizes = captured(slot).sizes;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d].terms().size() != 1 || sizes[d].constant() != 0) continue;
    const Extent::Term& term = sizes[d].terms().front();
    if (term.coefficient != 1 || term.factors.size() != 1) continue;
    const std::uint32_t symbol = term.factors.front().index;
    if (capture.symbols[symbol].role != capture::Symbol::Role::kData) continue;
    symbols_[symbol] = tensor.size(static_cast<std::int64_t>(d));
    capture.complete(symbols_);
  }
}

}  // namespace dynaflow::aten
