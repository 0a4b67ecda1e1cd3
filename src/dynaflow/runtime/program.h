#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dynaflow/device/device.h"
#include "dynaflow/placement/placed_plan.h"
#include "dynaflow/runtime/arena.h"
#include "dynaflow/runtime/binding.h"
#include "dynaflow/runtime/stats.h"
#include "dynaflow/timeline/timeline.h"

namespace dynaflow {

struct RunOptions {
  enum class Trace : std::uint8_t { kOff, kOn };

  Trace trace = Trace::kOff;  ///< stamp every step, for timeline()
  WatchOptions watch = {};
  const void* context = nullptr;  ///< for the bodies of this run: KernelArgs::context
};

/// A plan bound to sizes, memory and a device: run it as often as you like. A steady run looks up
/// nothing and allocates nothing. One run at a time; other threads wait their turn, and a body that
/// runs anything on the device it is running on gets R4 re-entry.
class Program {
 public:
  /// On a device that must outlive it, with an arena of its own.
  /// `symbols` are the values of Graph::symbols().
  [[nodiscard]] static Result<Program> make(std::shared_ptr<const PlacedPlan> plan, Device& device,
                                            const Split& split,
                                            std::span<const std::int64_t> symbols = {});
  /// On the arena's device; Programs of one graph may share an arena.
  [[nodiscard]] static Result<Program> make(std::shared_ptr<const PlacedPlan> plan,
                                            std::shared_ptr<Arena> arena, const Split& split,
                                            std::span<const std::int64_t> symbols = {});

  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();

  /// Binds to other sizes that the plan serves (Schedule::Key::matches). After an error the old
  /// sizes are still in force.
  [[nodiscard]] Result<void> rebind(const Split& split, std::span<const std::int64_t> symbols = {});

  /// `bindings` names every input and output of the graph once. A failure leaves the Program ready
  /// for the next run; outputs are then undefined.
  [[nodiscard]] Result<Stats> run(std::span<const Binding> bindings,
                                  const RunOptions& options = {});

  /// When the steps of the last traced run ran; empty after a stall. Waits for a run to end; from
  /// inside one there is nothing to tell yet.
  [[nodiscard]] Timeline timeline() const;

  [[nodiscard]] const PlacedPlan& placed_plan() const;
  [[nodiscard]] const Plan& plan() const { return placed_plan().plan(); }
  [[nodiscard]] const Placement& placement() const;
  /// The shares the plan asked for and those the device granted.
  [[nodiscard]] std::span<const LaneGrant> lanes() const;

 private:
  class Work;

  Program(std::shared_ptr<const PlacedPlan> plan, std::shared_ptr<Arena> arena);
  [[nodiscard]] Result<Stats> launch(const RunOptions& options);
  [[nodiscard]] Stats stats_of(const LaunchStats& launched) const;

  std::shared_ptr<const PlacedPlan> plan_;
  std::shared_ptr<Arena> arena_;
  std::unique_ptr<Placement> placement_;
  std::unique_ptr<Placement> spare_;  ///< memory for the next rebind
  std::shared_ptr<Work> work_;
};

}  // namespace dynaflow
