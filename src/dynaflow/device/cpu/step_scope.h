#pragma once

#include <cstdint>
#include <optional>

namespace dynaflow {

class Launch;
class ActiveLaunch;

/// Marks the calling thread as being inside a launch, so that a launch on the same device from
/// there is refused instead of waiting for itself. Scopes nest: a step may launch on another
/// device, whose steps may then run on this very thread.
class StepScope {
 public:
  /// Running the steps of a lane; without a lane, inside on_stall.
  StepScope(const ActiveLaunch& launch, const Launch& work, std::optional<std::uint32_t> lane);
  ~StepScope();
  StepScope(const StepScope&) = delete;
  StepScope& operator=(const StepScope&) = delete;

  /// The scope of `launch` that the calling thread is in; null when it is in none.
  [[nodiscard]] static const StepScope* find(const ActiveLaunch& launch);

  [[nodiscard]] const Launch& work() const { return work_; }
  [[nodiscard]] std::optional<std::uint32_t> lane() const { return lane_; }

 private:
  const ActiveLaunch& launch_;
  const Launch& work_;
  std::optional<std::uint32_t> lane_;
  const StepScope* outer_;
};

}  // namespace dynaflow
