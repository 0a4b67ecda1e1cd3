#include "dynaflow/runtime/caller_memory.h"

#include <limits>
#include <string>
#include <utility>

namespace dynaflow {
namespace {

constexpr auto kNoSlot = std::numeric_limits<std::uint32_t>::max();

Unexpected bad_binding(std::string message, std::string fix) {
  return Unexpected(
      Error(Diagnostic{kBadBinding, std::move(message), "Program::run", std::move(fix)}));
}

bool overlap(const Binding& a, const Binding& b) {
  return a.data < b.data + b.bytes && b.data < a.data + a.bytes;
}

}  // namespace

CallerMemory::CallerMemory(const PlacedPlan& placed)
    : graph_(placed.graph()),
      slots_(placed.graph().storages().size()),
      slot_of_(placed.graph().values().size(), kNoSlot) {
  for (const auto ids : {graph_.inputs(), graph_.outputs()}) {
    for (const ValueId id : ids) {
      slot_of_[id.index] = graph_.value(id).storage.index;
      slots_[slot_of_[id.index]].value = id;
    }
  }
  const Plan& plan = placed.plan();
  for (std::uint32_t i = 0; i < plan.step_operands.size(); ++i) {
    Slot& slot = slots_[graph_.value(plan.step_operands[i].value).storage.index];
    if (slot.value.valid()) slot.views.push_back(i);
  }
}

void CallerMemory::resize(const Placement& placement) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Storage& storage = graph_.storages()[i];
    slots_[i].bytes =
        placement.storages[i].row_bytes * (storage.has_rows() ? placement.row_starts.back() : 1);
    slots_[i].last = {};
  }
}

CallerMemory::Slot* CallerMemory::slot_of(const Binding& binding) {
  if (binding.value.index >= slot_of_.size()) return nullptr;
  const std::uint32_t at = slot_of_[binding.value.index];
  return at != kNoSlot && slots_[at].value == binding.value ? &slots_[at] : nullptr;
}

bool CallerMemory::is_written(const Slot& slot) const {
  return graph_.is_written(graph_.value(slot.value).storage.index);
}

Result<void> CallerMemory::bind(std::span<const Binding> bindings, std::span<View> views,
                                std::span<const std::int64_t> positions) {
  if (auto well = check(bindings); !well) return well;
  for (const std::size_t at : moved_) {
    Slot& slot = *slot_of(bindings[at]);
    slot.last = bindings[at];
    std::byte* const data = slot.last.data;  // null where the value has no bytes
    for (const std::uint32_t i : slot.views) {
      views[i].data = data != nullptr ? data + positions[i] : nullptr;
    }
  }
  return {};
}

Result<void> CallerMemory::check(std::span<const Binding> bindings) {
  ++checks_;
  moved_.clear();
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    Slot* slot = slot_of(bindings[i]);
    if (slot != nullptr && slot->check != checks_ && slot->last == bindings[i]) {
      slot->check = checks_;  // all else was well when it was bound
      continue;
    }
    if (auto well = check_one(bindings[i], slot); !well) return well;
    moved_.push_back(i);
  }
  const std::size_t expected = graph_.inputs().size() + graph_.outputs().size();
  if (bindings.size() != expected) {
    return bad_binding(std::to_string(expected) + " inputs and outputs, but " +
                           std::to_string(bindings.size()) + " bindings",
                       "bind every input and output once");
  }
  for (const std::size_t i : moved_) {
    if (auto well = check_overlap(bindings[i], bindings); !well) return well;
  }
  return {};
}

Result<void> CallerMemory::check_one(const Binding& binding, Slot* slot) const {
  if (binding.value.index >= graph_.values().size()) {
    return bad_binding("a binding names a value that is not in this graph",
                       "bind the graph's inputs() and outputs()");
  }
  if (slot == nullptr) {
    return bad_binding("'" + graph_.value(binding.value).name + "' is neither input nor output",
                       "bind the graph's inputs() and outputs(), not views of them");
  }
  const std::string& name = graph_.value(binding.value).name;
  if (std::exchange(slot->check, checks_) == checks_) {
    return bad_binding("'" + name + "' is bound twice", "bind each value once");
  }
  if (binding.bytes != slot->bytes) {
    return bad_binding("'" + name + "' needs " + std::to_string(slot->bytes) +
                           " bytes for this batch but is bound to " + std::to_string(binding.bytes),
                       "bind memory of the batch's own size");
  }
  const DType dtype = graph_.value(binding.value).type.dtype;
  if (binding.element_bytes != 1 && binding.element_bytes != size_of(dtype)) {
    return bad_binding("'" + name + "' has elements of type " + to_string(dtype) +
                           " but is bound to elements of " + std::to_string(binding.element_bytes) +
                           " bytes",
                       "bind memory of the value's own type, or untyped bytes");
  }
  if (binding.data == nullptr && binding.bytes > 0) {
    return bad_binding("'" + name + "' is bound to null", "bind memory");
  }
  if (binding.use == Binding::Use::kReadOnly && is_written(*slot)) {
    return bad_binding("'" + name + "' is written, but is bound as read-only",
                       "bind memory that may be written");
  }
  return {};
}

Result<void> CallerMemory::check_overlap(const Binding& moved, std::span<const Binding> all) {
  const Slot& slot = *slot_of(moved);
  for (const Binding& other : all) {
    if (other.value == moved.value || !overlap(moved, other)) continue;
    if (!is_written(slot) && !is_written(*slot_of(other))) continue;
    return bad_binding("'" + graph_.value(moved.value).name + "' and '" +
                           graph_.value(other.value).name +
                           "' are bound to overlapping memory, and one is written",
                       "bind each to memory of its own");
  }
  return {};
}

}  // namespace dynaflow
