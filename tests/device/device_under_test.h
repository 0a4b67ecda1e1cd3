#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "device/scripted_launch.h"
#include "dynaflow/device/cpu/cpu_device.h"
#include "support/queue_device.h"

namespace dynaflow::testing {

struct DeviceUnderTest {
  std::string name;
  std::unique_ptr<Device> (*make)();
};

inline void PrintTo(const DeviceUnderTest& device, std::ostream* out) { *out << device.name; }

inline std::unique_ptr<Device> make_cpu() { return std::make_unique<CpuDevice>(); }
inline std::unique_ptr<Device> make_cpu_own_thread() {
  return std::make_unique<CpuDevice>(CpuDeviceOptions{FirstLane::kOwnThread});
}
inline std::unique_ptr<Device> make_queue() { return std::make_unique<QueueDevice>(); }

/// A device to launch on. The suites over it say what every device promises, whatever its kind.
class DeviceTest : public ::testing::TestWithParam<DeviceUnderTest> {
 protected:
  std::shared_ptr<ScriptedLaunch> make_launch(const std::vector<std::string>& lanes) {
    return std::make_shared<ScriptedLaunch>(*device_, lanes);
  }
  Result<LaunchStats> launch(const std::shared_ptr<ScriptedLaunch>& work,
                             const WatchOptions& watch = unwatched()) {
    return device_->launch(work, watch);
  }
  /// One lane, one step, no harm.
  Result<LaunchStats> launch_something() {
    const auto work = make_launch({"compute"});
    work->add({.lane = 0});
    return launch(work);
  }
  /// Launches until the device no longer says that a lane is lost.
  Result<LaunchStats> launch_when_free() {
    Result<LaunchStats> result = launch_something();
    for (int i = 0; i < 10'000 && !result && result.error().broke(kLaneLost); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      result = launch_something();
    }
    return result;
  }

  std::unique_ptr<Device> device_ = GetParam().make();
};

inline auto every_device() {
  return ::testing::Values(DeviceUnderTest{"Cpu", make_cpu},
                           DeviceUnderTest{"CpuOwnThread", make_cpu_own_thread},
                           DeviceUnderTest{"Queue", make_queue});
}

inline std::string name_of(const ::testing::TestParamInfo<DeviceUnderTest>& device) {
  return device.param.name;
}

}  // namespace dynaflow::testing
