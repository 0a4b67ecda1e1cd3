#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dynaflow/device/device.h"
#include "dynaflow/placement/placed_plan.h"
#include "dynaflow/runtime/arena.h"
#include "dynaflow/runtime/binding.h"
#include "dynaflow/runtime/program.h"
#include "dynaflow/runtime/unplaced.h"

namespace dynaflow {

/// What a device launches: for every step its kernel and its views, resolved to addresses.
class Program::Work final : public Launch {
 public:
  Work(std::shared_ptr<const PlacedPlan> plan, std::vector<LaneGrant> granted);

  /// Takes the sizes of a new placement. Addresses follow in `use_arena` and `use`.
  void resize(const Placement& placement);
  /// Resolves arena views, if the arena has moved or sizes changed since the last call.
  void use_arena(const std::shared_ptr<DeviceMemory>& memory);
  /// Resolves the views of the caller's memory that changed since the last run.
  void use(std::span<const Binding> bindings);

  void begin_run(RunOptions::Trace trace, const Arena* arena);
  void end_run();

  void run_step(std::uint32_t step) override;
  [[nodiscard]] std::string describe(std::uint32_t step) const override;

  [[nodiscard]] Timeline timeline() const;
  [[nodiscard]] const Unplaced& unplaced() const { return unplaced_; }

  /// The arena whose Program this thread is running a body of, or null.
  [[nodiscard]] static const Arena* running_here();

 private:
  struct Entry {
    const Kernel* kernel = nullptr;
    KernelArgs args;
    Slice operands;
  };
  /// The views of one of the caller's storages, and where it was last.
  struct External {
    std::vector<std::uint32_t> views;
    std::byte* data = nullptr;
  };
  /// Cache-line apart from its neighbours: different lanes write them at the same time.
  struct Stamp {
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
  };

  void add_views(const Step& step);
  void run_body(const Entry& entry);

  std::shared_ptr<const PlacedPlan> plan_;
  std::shared_ptr<DeviceMemory> memory_;
  std::vector<Entry> entries_;           ///< per step
  std::vector<View> views_;              ///< parallel to Plan::step_operands
  std::vector<std::int64_t> positions_;  ///< per view: bytes from the start of arena or storage
  std::vector<std::uint32_t> in_arena_;  ///< indices of views
  std::vector<External> externals_;      ///< per storage
  Unplaced unplaced_;
  std::vector<Stamp> stamps_;  ///< per step, when tracing
  std::int64_t started_ns_ = 0;
  std::int64_t total_ns_ = 0;
  RunOptions::Trace trace_ = RunOptions::Trace::kOff;
  const Arena* arena_ = nullptr;
};

}  // namespace dynaflow
