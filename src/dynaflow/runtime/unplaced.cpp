#include "dynaflow/runtime/unplaced.h"

#include <map>
#include <new>
#include <stdexcept>
#include <string>

namespace dynaflow {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 48;  // more than any machine has
constexpr std::align_val_t kAlign{Placement::kAlignment};

}  // namespace

void Unplaced::FreeAligned::operator()(std::byte* bytes) const {
  ::operator delete[](bytes, kAlign);
}

Unplaced::Unplaced(const PlacedPlan& plan, std::span<View> views)
    : views_(views), slot_of_(views.size(), nullptr) {
  std::map<BufferId, Slot*> known;
  for (const Step& step : plan.plan().steps) {
    for (std::uint32_t i = step.operands.first; i < step.operands.first + step.operands.count;
         ++i) {
      const BufferId buffer = plan.buffers().of_operand[i];
      const StorageId storage = plan.buffers().items[buffer.index].storage;
      if (plan.graph().storage(storage).memory != Memory::kUnplaced) continue;
      Slot*& slot = known[buffer];
      if (slot == nullptr) slot = slots_.emplace_back(std::make_unique<Slot>()).get();
      slot->views.push_back(i);
      ++slot->steps;
      slot_of_[i] = slot;
    }
  }
}

void Unplaced::allocate(const View& view, std::int64_t elements) {
  Slot* slot = slot_of_[static_cast<std::size_t>(&view - views_.data())];
  if (slot == nullptr) throw std::logic_error("allocate: this output is placed; write to it");
  if (elements < 0 || elements > kMostElements) {
    throw std::length_error("allocate: " + std::to_string(elements) + " elements");
  }
  const std::int64_t bytes = elements * size_of(view.dtype);
  slot->memory.reset(
      static_cast<std::byte*>(::operator new[](static_cast<std::size_t>(bytes), kAlign)));
  for (const std::uint32_t i : slot->views) {
    views_[i].data = slot->memory.get();
    views_[i].rows = 1;
    views_[i].row_stride = bytes;
    views_[i].elements = elements;
  }
  values_.fetch_add(1, std::memory_order_relaxed);
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

void Unplaced::step_done(Slice operands) {
  for (std::uint32_t i = operands.first; i < operands.first + operands.count; ++i) {
    Slot* slot = slot_of_[i];
    if (slot != nullptr && slot->left.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      slot->memory.reset();
    }
  }
}

void Unplaced::reset() {
  values_.store(0, std::memory_order_relaxed);
  bytes_.store(0, std::memory_order_relaxed);
  for (const auto& slot : slots_) {
    slot->memory.reset();
    slot->left.store(slot->steps, std::memory_order_relaxed);
    for (const std::uint32_t i : slot->views)
      views_[i] = {nullptr, 0, 0, 0, views_[i].dtype, views_[i].sum};
  }
}

}  // namespace dynaflow
