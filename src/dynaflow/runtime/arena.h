#pragma once

#include <memory>
#include <mutex>

#include "dynaflow/device/device.h"

namespace dynaflow {

/// Scratch memory that Programs of one graph share: it only grows, and one run at a time uses it.
class Arena {
 public:
  explicit Arena(Device& device) : device_(device) {}

  /// Held for the whole of a run.
  [[nodiscard]] std::mutex& in_use() { return in_use_; }

  /// Makes room. Moves the arena if it must grow; Programs notice by `data()`. Guarded by in_use().
  [[nodiscard]] Result<void> reserve(std::int64_t bytes);
  /// Kept alive by whoever may still write to it, even when the arena has moved on.
  [[nodiscard]] const std::shared_ptr<DeviceMemory>& memory() const { return memory_; }
  [[nodiscard]] std::byte* data() const { return memory_ ? memory_->data() : nullptr; }
  [[nodiscard]] Device& device() const { return device_; }

 private:
  Device& device_;
  std::mutex in_use_;
  std::shared_ptr<DeviceMemory> memory_;
};

}  // namespace dynaflow
