#pragma once

#include <cstdint>
#include <memory>

#include "dynaflow/base/result.h"
#include "dynaflow/device/device.h"

namespace dynaflow {

/// `bytes` bytes of host memory, aligned to a cache line, or R7 out-of-memory. From two megabytes
/// on it is in huge pages where the kernel has them: matrix products then find their addresses
/// sooner.
[[nodiscard]] Result<std::unique_ptr<DeviceMemory>> allocate_host_memory(std::int64_t bytes);

}  // namespace dynaflow
