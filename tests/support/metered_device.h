#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "dynaflow/device/cpu/cpu_device.h"

namespace dynaflow::testing {

/// A CPU that knows how much of its memory is in use and can run out of it.
class MeteredDevice final : public Device {
 public:
  [[nodiscard]] std::string_view name() const override { return "metered"; }
  [[nodiscard]] DeviceKind kind() const override { return cpu_.kind(); }
  [[nodiscard]] std::vector<LaneGrant> grant(std::span<const LaneRequest> lanes) const override {
    return cpu_.grant(lanes);
  }
  [[nodiscard]] Result<LaunchStats> launch(const std::shared_ptr<Launch>& work,
                                           const WatchOptions& watch) override {
    return cpu_.launch(work, watch);
  }
  [[nodiscard]] bool is_running_here() const override { return cpu_.is_running_here(); }
  void cancel() override { cpu_.cancel(); }

  [[nodiscard]] Result<std::unique_ptr<DeviceMemory>> allocate(std::int64_t bytes) override {
    if (bytes > largest_) {
      return Unexpected(Error(Diagnostic{kOutOfMemory, "full", "metered device", "ask for less"}));
    }
    auto memory = cpu_.allocate(bytes);
    if (!memory) return memory;
    return std::make_unique<Metered>(std::move(*memory), in_use_);
  }

  [[nodiscard]] std::int64_t bytes_in_use() const { return *in_use_; }
  /// From now on, refuses to allocate more than this at once.
  void refuse_more_than(std::int64_t bytes) { largest_ = bytes; }

 private:
  class Metered final : public DeviceMemory {
   public:
    Metered(std::unique_ptr<DeviceMemory> memory, std::shared_ptr<std::int64_t> in_use)
        : memory_(std::move(memory)), in_use_(std::move(in_use)) {
      *in_use_ += memory_->size();
    }
    ~Metered() override { *in_use_ -= memory_->size(); }
    Metered(const Metered&) = delete;
    Metered& operator=(const Metered&) = delete;
    [[nodiscard]] std::byte* data() const override { return memory_->data(); }
    [[nodiscard]] std::int64_t size() const override { return memory_->size(); }

   private:
    std::unique_ptr<DeviceMemory> memory_;
    std::shared_ptr<std::int64_t> in_use_;
  };

  CpuDevice cpu_;
  std::int64_t largest_ = std::numeric_limits<std::int64_t>::max();
  std::shared_ptr<std::int64_t> in_use_ = std::make_shared<std::int64_t>(0);
};

}  // namespace dynaflow::testing
