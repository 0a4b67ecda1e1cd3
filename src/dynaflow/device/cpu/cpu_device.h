#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "dynaflow/device/cpu/active_launch.h"
#include "dynaflow/device/cpu/lane_thread.h"
#include "dynaflow/device/cpu/watchdog.h"
#include "dynaflow/device/device.h"

namespace dynaflow {

/// Who runs the first lane.
enum class FirstLane {
  kCaller,     ///< the thread that calls launch: nothing is woken for a single lane
  kOwnThread,  ///< a thread like the others': the caller only waits, so even a first lane that
               ///< never returns ends in an error
};

struct CpuDeviceOptions {
  FirstLane first_lane = FirstLane::kCaller;
};

/// The cores of this machine that the constructing thread may use. Each lane's own thread runs its
/// steps, pinned to the lane's cores; the threads are made at first need and persist. The calling
/// thread is pinned only while it runs a lane beside others, and put back where it was.
///
/// Destroying a device whose lane is stuck inside a step leaves that thread behind.
class CpuDevice final : public Device {
 public:
  explicit CpuDevice(CpuDeviceOptions options = {});

  [[nodiscard]] std::string_view name() const override { return "cpu"; }
  [[nodiscard]] DeviceKind kind() const override { return DeviceKind::kExecuting; }
  [[nodiscard]] std::vector<LaneGrant> grant(std::span<const LaneRequest> lanes) const override;
  [[nodiscard]] Result<std::unique_ptr<DeviceMemory>> allocate(std::int64_t bytes) override;
  [[nodiscard]] Result<LaunchStats> launch(const std::shared_ptr<Launch>& work,
                                           const WatchOptions& watch) override;
  [[nodiscard]] bool is_running_here() const override { return launch_->reentry().has_value(); }
  void cancel() override { launch_->cancel(); }

 private:
  /// The first lane that has a thread of its own.
  [[nodiscard]] std::uint32_t first_worker() const;
  /// Why there are not as many threads as the launch needs, if so.
  [[nodiscard]] std::optional<Diagnostic> start_threads(const Launch& work,
                                                        const WatchOptions& watch);
  void wake_workers(const Launch& work);
  void run_first_lane(Launch& work);

  const CpuDeviceOptions options_;
  const std::vector<int> cores_;
  std::mutex turn_;  ///< held for a whole launch; guards what follows
  std::shared_ptr<ActiveLaunch> launch_;
  std::vector<std::unique_ptr<LaneThread>> threads_;  ///< of the lanes from first_worker on
  Watchdog watchdog_;
};

}  // namespace dynaflow
