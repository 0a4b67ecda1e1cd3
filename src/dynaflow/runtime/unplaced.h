#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dynaflow/graph/kernel.h"
#include "dynaflow/placement/placed_plan.h"

namespace dynaflow {

/// Values whose size is known only after their producer ran: allocated by the body, seen by the
/// readers, released after the last of them. Steps that share one are ordered by the plan, so only
/// the count of readers left is atomic.
class Unplaced final : public UnplacedMemory {
 public:
  /// Host memory, not initialised, aligned like the arena.
  struct FreeAligned {
    void operator()(std::byte* bytes) const;
  };
  using AlignedBytes = std::unique_ptr<std::byte[], FreeAligned>;

  /// `views` are the steps' views, parallel to Plan::step_operands; they are set on allocation.
  Unplaced(const PlacedPlan& plan, std::span<View> views);

  void allocate(const View& view, std::int64_t elements) override;
  /// The step that has these operands is complete.
  void step_done(Slice operands);
  /// Before a run: nothing allocated, everything still to be read.
  void reset();
  [[nodiscard]] bool any() const { return !slots_.empty(); }

  [[nodiscard]] std::uint64_t values() const { return values_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  struct Slot {
    AlignedBytes memory;
    std::vector<std::uint32_t> views;
    std::uint32_t steps = 0;
    std::atomic<std::uint32_t> left{0};
  };

  std::span<View> views_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot*> slot_of_;  ///< per view; null for placed ones
  std::atomic<std::uint64_t> values_{0};
  std::atomic<std::int64_t> bytes_{0};
};

}  // namespace dynaflow
