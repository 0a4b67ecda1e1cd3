#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "dynaflow/device/device.h"

namespace dynaflow::testing {

/// A stand-in for an accelerator: an issuing device whose lanes are asynchronous in-order queues.
/// The calling thread walks the steps in recorded order and enqueues each on its lane, a wait
/// becomes "this queue waits for that queue's event", and at the end it synchronises all queues
/// and watches them meanwhile. Built from mutexes and condition variables only, so it shares no
/// reasoning with the CPU device whose promises it checks.
class QueueDevice final : public Device {
 public:
  QueueDevice();
  ~QueueDevice() override;

  [[nodiscard]] std::string_view name() const override { return "queue"; }
  [[nodiscard]] DeviceKind kind() const override { return DeviceKind::kIssuing; }
  [[nodiscard]] std::vector<LaneGrant> grant(std::span<const LaneRequest> lanes) const override;
  [[nodiscard]] Result<std::unique_ptr<DeviceMemory>> allocate(std::int64_t bytes) override;
  [[nodiscard]] Result<LaunchStats> launch(const std::shared_ptr<Launch>& work,
                                           const WatchOptions& watch) override;
  [[nodiscard]] bool is_running_here() const override;
  void cancel() override;

 private:
  class Queue;   ///< a thread that runs what it is given, in order
  class Issued;  ///< a launch whose steps are on the queues

  void issue(const std::shared_ptr<Issued>& launch, const Launch& work);
  void set_current(std::shared_ptr<Issued> launch);

  std::mutex turn_;  ///< held for a whole launch; guards the queues and the launch left behind
  std::vector<std::unique_ptr<Queue>> queues_;
  std::shared_ptr<Issued> left_behind_;  ///< by a stall; null when there is none

  std::mutex current_mutex_;
  std::shared_ptr<Issued> current_;  ///< what cancel ends; guarded by current_mutex_
};

}  // namespace dynaflow::testing
