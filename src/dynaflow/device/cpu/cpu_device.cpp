#include "dynaflow/device/cpu/cpu_device.h"

#include <algorithm>
#include <system_error>

#include "dynaflow/device/cpu/core_set.h"
#include "dynaflow/device/cpu/cpu_memory.h"
#include "dynaflow/device/cpu/findings.h"

namespace dynaflow {
namespace {

bool runs_beside_others(const Launch& work) {
  return std::any_of(work.lane_steps.begin() + 1, work.lane_steps.end(),
                     [](const std::vector<std::uint32_t>& steps) { return !steps.empty(); });
}

}  // namespace

CpuDevice::CpuDevice(CpuDeviceOptions options)
    : options_(options),
      cores_(CoreSet::of_this_thread().cores()),
      launch_(std::make_shared<ActiveLaunch>(static_cast<std::uint32_t>(cores_.size()))),
      watchdog_(launch_) {}

std::vector<LaneGrant> CpuDevice::grant(std::span<const LaneRequest> lanes) const {
  return grant_cores(cores_, lanes);
}

Result<std::unique_ptr<DeviceMemory>> CpuDevice::allocate(std::int64_t bytes) {
  return allocate_host_memory(bytes);
}

std::uint32_t CpuDevice::first_worker() const {
  return options_.first_lane == FirstLane::kCaller ? 1 : 0;
}

Result<LaunchStats> CpuDevice::launch(const std::shared_ptr<Launch>& work,
                                      const WatchOptions& watch) {
  if (auto refusal = launch_->reentry()) return Unexpected(Error(*std::move(refusal)));
  const std::lock_guard turn(turn_);
  if (auto refusal = launch_->lost_lane()) return Unexpected(Error(*std::move(refusal)));
  if (auto refusal = start_threads(*work, watch)) return Unexpected(Error(*std::move(refusal)));
  launch_->begin(work, watch, first_worker());
  if (watch.stall_after.count() > 0) watchdog_.watch(watch.stall_after);
  wake_workers(*work);
  run_first_lane(*work);
  launch_->await_quiet();
  return launch_->end();
}

std::optional<Diagnostic> CpuDevice::start_threads(const Launch& work, const WatchOptions& watch) {
  try {
    if (watch.stall_after.count() > 0) watchdog_.start();
    while (first_worker() + threads_.size() < work.lane_steps.size()) {
      const auto lane = static_cast<std::uint32_t>(first_worker() + threads_.size());
      threads_.push_back(std::make_unique<LaneThread>(launch_, lane));
    }
    return std::nullopt;
  } catch (const std::system_error& error) {
    return thread_refused(error.what());
  }
}

void CpuDevice::wake_workers(const Launch& work) {
  for (std::size_t lane = first_worker(); lane < work.lane_steps.size(); ++lane) {
    if (!work.lane_steps[lane].empty()) threads_[lane - first_worker()]->wake();
  }
}

void CpuDevice::run_first_lane(Launch& work) {
  if (first_worker() == 0 || work.lane_steps.empty() || work.lane_steps[0].empty()) return;
  std::optional<PinnedScope> pinned;
  if (runs_beside_others(work)) pinned.emplace(CoreSet(work.lanes[0].cores));
  launch_->run_lane(work, 0);
  launch_->leave_caller(0);
}

}  // namespace dynaflow
