#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dynaflow/device/device.h"
#include "dynaflow/placement/placed_plan.h"
#include "dynaflow/runtime/arena.h"
#include "dynaflow/runtime/binding.h"
#include "dynaflow/runtime/bound_bodies.h"
#include "dynaflow/runtime/caller_memory.h"
#include "dynaflow/runtime/program.h"
#include "dynaflow/runtime/turns.h"
#include "dynaflow/runtime/unplaced.h"

namespace dynaflow {

/// What a device launches: for every step its kernel or body and its views, resolved to addresses.
class Program::Work final : public Launch {
 public:
  Work(std::shared_ptr<const PlacedPlan> plan, std::vector<LaneGrant> granted);

  /// Takes the sizes of a new placement, and bodies bound to them. Addresses follow with the next
  /// run.
  void resize(const Placement& placement, BoundBodies bodies);
  /// Whether it has sizes: one that took the place of a stalled one has none.
  [[nodiscard]] bool is_bound() const { return bodies_.has_value(); }

  /// Resolves what has moved since the last run, or R6. The arena's memory is held until `end_run`;
  /// after a stall that is never called, since a body may still be using it.
  [[nodiscard]] Result<void> begin_run(std::span<const Binding> bindings, const Arena& arena,
                                       const RunOptions& options);
  void end_run();

  void run_step(std::uint32_t step) override;
  void abort() override { turns_.abort(); }
  [[nodiscard]] std::string describe(std::uint32_t step) const override;

  [[nodiscard]] Timeline timeline() const;
  [[nodiscard]] const Unplaced& unplaced() const { return unplaced_; }
  /// What the bodies of the last run said they did, per lane.
  [[nodiscard]] std::span<const BodyCounts> counts() const { return counts_; }

 private:
  struct Entry {
    const Kernel* kernel = nullptr;
    BoundBody* body = nullptr;  ///< runs it, unless null
    KernelArgs args;
    Slice operands;
    std::string name;
    Turn* turn = nullptr;  ///< of a step with transfers
  };
  struct Stamp {
    static constexpr std::int64_t kNever = -1;

    std::int64_t begin_ns = kNever;
    std::int64_t end_ns = kNever;
    std::int64_t cpu_ns = 0;  ///< of the thread that ran it
  };

  void add_views(const Step& step);
  void use_arena(const std::shared_ptr<DeviceMemory>& memory);
  void use_context(const void* context);
  void run_body(const Entry& entry);

  std::shared_ptr<const PlacedPlan> plan_;
  std::shared_ptr<DeviceMemory> memory_;  ///< the arena's, while a run uses it
  std::vector<Entry> entries_;            ///< per step
  std::vector<View> views_;               ///< parallel to Plan::step_operands
  std::vector<std::int64_t> positions_;   ///< per view: bytes from the start of arena or storage
  std::vector<std::uint32_t> in_arena_;   ///< indices of views
  /// Steps whose bodies asked for scratch in these sizes, and where in the arena it is.
  struct Scratch {
    std::uint32_t step;
    std::int64_t offset;
    std::int64_t bytes;
  };
  std::vector<Scratch> scratch_;
  std::byte* arena_data_ = nullptr;  ///< where the views in the arena point to
  std::vector<std::int64_t> symbols_;
  std::optional<BoundBodies> bodies_;
  std::vector<BodyCounts> counts_;  ///< per lane
  CallerMemory callers_;
  Unplaced unplaced_;
  Turns turns_;
  std::vector<Stamp> stamps_;  ///< per step, when tracing
  std::int64_t started_ns_ = 0;
  std::int64_t total_ns_ = 0;
  RunOptions::Trace trace_ = RunOptions::Trace::kOff;
};

}  // namespace dynaflow
