#include "torch/aten/aten_body.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "import/cut/labels.h"
#include "import/cut/layout.h"
#include "import/cut/views.h"
#include "torch/aten/bound_aten.h"
#include "torch/aten/scratch.h"

namespace dynaflow::aten {
namespace {

using capture::Call;
using capture::TensorId;

/// Calls whose result is their first argument's elements: they become one copy.
bool is_copy(const Call& call) {
  constexpr std::array<std::string_view, 3> kCopies{"aten::clone", "aten::_to_copy",
                                                    "aten::lift_fresh_copy"};
  return std::ranges::find(kCopies, call.op) != kCopies.end();
}

/// Output `output` of an in-place call is which tensor, as it is then?
TensorId updated(const Call& call, std::uint32_t output) {
  for (const Call::Update& update : call.updates) {
    if (update.output == output) return update.tensor;
  }
  for (const Call::Alias& alias : call.aliases) {
    if (alias.output == output) return call.arguments[alias.argument].tensor().value_or(TensorId{});
  }
  return {};
}

}  // namespace

AtenBody::AtenBody(std::shared_ptr<const cut::Cut> cut, const cut::Region& region)
    : AtenBody(std::move(cut), region, {}) {}

AtenBody::AtenBody(std::shared_ptr<const cut::Cut> cut, const cut::Region& region, Own own)
    : cut_(std::move(cut)),
      own_(std::move(own)),
      runs_(region.runs),
      communicates_(!region.group.empty()),
      updates_(static_cast<std::uint32_t>(region.updates.size())),
      slot_of_(cut_->capture().tensors.size(), kNoSlot),
      written_(cut_->capture().tensors.size()) {
  add_operands(region.reads);
  add_operands(region.updates);
  add_operands(region.writes);
  add_given();
  for (const capture::CallId id : region.calls) {
    const Call& call = cut_->capture().call(id);
    for (const std::uint32_t argument : call.writes) {
      capture::for_each_tensor(call.arguments[argument], [&](TensorId tensor) {
        written_[cut_->base[tensor.index].index] = 1;
      });
    }
  }
  for (std::size_t i = 0; i < region.calls.size(); ++i) {
    add_call(cut_->capture().call(region.calls[i]), static_cast<std::uint32_t>(i));
  }
  find_lifetimes();
  find_strides();
}

std::uint32_t AtenBody::slot_of(TensorId tensor) const { return slot_of_[tensor.index]; }

void AtenBody::add_operands(const std::vector<TensorId>& tensors) {
  for (const TensorId tensor : tensors) {
    slots_[add_slot(tensor, Place::kOperand)].operand = operands_++;
  }
}

void AtenBody::add_given() {
  if (own_.constants.empty()) return;
  std::uint32_t constant = 0;
  for (const capture::Input& input : cut_->capture().inputs) {
    if (input.role != capture::Input::Role::kConstant) continue;
    slots_[add_slot(input.tensor, Place::kGiven)].operand = constant++;
  }
}

const at::Tensor& AtenBody::given(std::uint32_t slot) const {
  return own_.constants[slots_[slot].operand];
}

std::vector<std::int64_t> AtenBody::symbols(const BindArgs& args) const {
  const capture::Capture& capture = cut_->capture();
  std::vector<std::int64_t> values(args.symbols.begin(), args.symbols.end());
  values.resize(capture.symbols.size());
  for (std::size_t i = 0; i < own_.symbols.size(); ++i) {
    const SymbolId theirs = own_.symbols[i];
    values[i] = theirs.valid() ? args.symbols[theirs.index] : 0;
  }
  if (capture.batch().valid()) values[capture.batch().index] = args.rows.count;
  capture.complete(values);
  return values;
}

std::uint32_t AtenBody::add_slot(TensorId tensor, Place place) {
  std::uint32_t& slot = slot_of_[tensor.index];
  if (slot != kNoSlot) return slot;
  slot = static_cast<std::uint32_t>(slots_.size());
  slots_.push_back({.tensor = tensor, .place = place, .base = slot});
  return slot;
}

bool AtenBody::size_is_known(TensorId id) const {
  const capture::Capture& capture = cut_->capture();
  const auto known = [&](const Extent& size) { return !capture.depends_on_data(size); };
  return std::ranges::all_of(capture.tensor(id).sizes, known);
}

/// Only sizes and other constants go in, and nobody writes to what comes out.
bool AtenBody::is_constant(const Call& call) const {
  if (call.has_tag("nondeterministic_seeded") || !call.writes.empty()) return false;
  bool constant = true;
  for_each_input(call, [&](TensorId tensor) {
    const std::uint32_t slot = slot_of(tensor);
    constant = constant && slot != kNoSlot && slots_[slot].place == Place::kBound &&
               slots_[slots_[slot].base].place == Place::kBound;
  });
  return constant && std::ranges::all_of(call.outputs, [&](TensorId output) {
           return output.valid() && size_is_known(output) &&
                  written_[cut_->base[output.index].index] == 0;
         });
}

AtenBody::Form AtenBody::form_of(const Call& call, const Operator& op) const {
  if (cut::is_view(call)) return Form::kView;
  if (!call.writes.empty()) return Form::kInPlace;
  if (is_constant(call)) return Form::kConstant;
  const bool placeable = std::ranges::all_of(
      call.outputs, [&](TensorId output) { return output.valid() && size_is_known(output); });
  if (placeable && is_copy(call)) return Form::kCopy;
  return placeable && op.into() ? Form::kInto : Form::kFresh;
}

void AtenBody::add_call(const Call& call, std::uint32_t index) {
  Operator op(call);
  const Form form = form_of(call, op);
  Instruction instruction{&call, std::move(op), form, {}, {}};
  for (std::size_t k = 0; k < call.outputs.size(); ++k) add_result(instruction, k, index);
  instructions_.push_back(std::move(instruction));
}

void AtenBody::add_result(Instruction& instruction, std::size_t output, std::uint32_t index) {
  const TensorId tensor = instruction.call->outputs[output];
  std::uint32_t& slot = instruction.outputs.emplace_back(kNoSlot);
  if (!tensor.valid()) return;
  switch (instruction.form) {
    case Form::kView: {
      const std::uint32_t of = slot_of(*instruction.call->arguments[0].tensor());
      const bool late = slots_[of].place == Place::kLate || !size_is_known(tensor);
      slot = add_slot(tensor, late ? Place::kLate : Place::kBound);
      slots_[slot].base = slots_[of].base;
      return;
    }
    case Form::kInPlace: {
      const TensorId of = updated(*instruction.call, static_cast<std::uint32_t>(output));
      if (!of.valid()) break;
      slot_of_[tensor.index] = slot_of(of);  // the same tensor
      slot = slot_of(of);
      return;
    }
    case Form::kConstant:
      slot = add_slot(tensor, Place::kBound);
      return;
    case Form::kInto:
    case Form::kCopy:
      slot = add_slot(tensor, Place::kScratch);
      slots_[slot].first = index;
      return;
    case Form::kFresh:
      break;
  }
  slot = add_slot(tensor, Place::kLate);
}

/// For scratch memory, and for late tensors that can be let go.
void AtenBody::find_lifetimes() {
  std::vector<std::uint32_t> last(slots_.size());
  for (std::uint32_t i = 0; i < instructions_.size(); ++i) {
    const auto use = [&](std::uint32_t slot) {
      if (slot == kNoSlot) return;
      last[slot] = i;
      slots_[slots_[slot].base].last = i;
    };
    for_each_input(*instructions_[i].call, [&](TensorId tensor) { use(slot_of(tensor)); });
    for (const std::uint32_t output : instructions_[i].outputs) use(output);
  }
  for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot].place == Place::kLate) instructions_[last[slot]].dies.push_back(slot);
  }
}

void AtenBody::find_strides() {
  for (Slot& slot : slots_) {
    if (slot.place != Place::kOperand && slot.place != Place::kScratch) continue;
    slot.strides = cut::layout_of(cut_->rows, slot.tensor).strides;
  }
}

bool AtenBody::skips(const BindArgs& args) const {
  return runs_ == RunsPer::kMicrobatch && args.rows.count == 0 && updates_ == 0 && !communicates_;
}

std::int64_t AtenBody::scratch_bytes(const BindArgs& args) const {
  return skips(args) ? 0 : make_scratch(*this, args).bytes;
}

/// Where it has one transfer, by an operator of ours, which knows of turns.
bool AtenBody::passes_turn() const {
  const auto transfers = [](const Instruction& each) { return cut::is_collective(*each.call); };
  if (std::ranges::count_if(instructions_, transfers) != 1) return false;
  const Instruction& transfer = *std::ranges::find_if(instructions_, transfers);
  return transfer.outputs.size() == 1 &&
         transfer.op.functional().schema().name().starts_with("dynaflow::");
}

std::shared_ptr<BoundBody> AtenBody::bind(const BindArgs& args) const {
  return std::make_shared<BoundAten>(*this, args);
}

}  // namespace dynaflow::aten
