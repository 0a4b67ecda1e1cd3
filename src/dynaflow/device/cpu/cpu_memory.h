#pragma once

#include <cstdint>
#include <memory>

#include "dynaflow/base/result.h"
#include "dynaflow/device/device.h"

namespace dynaflow {

/// `bytes` bytes of host memory, aligned to a cache line, or R7 out-of-memory.
[[nodiscard]] Result<std::unique_ptr<DeviceMemory>> allocate_host_memory(std::int64_t bytes);

}  // namespace dynaflow
