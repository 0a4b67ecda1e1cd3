// A body that would wait for its own run is refused, however long the way round is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "dynaflow/dynaflow.h"
#include "runtime/prepared.h"
#include "support/findings.h"
#include "support/scripted.h"

namespace dynaflow::testing {
namespace {

/// A graph of one op, whose body does this.
Program with_body(Device& device, std::function<void()> body) {
  GraphBuilder builder;
  builder.op({.name = "only", .kernel = [body = std::move(body)](const KernelArgs&) { body(); }});
  return prepare(builder.build().value(), Sequential(), Split{{1}}, device).value();
}

/// A CPU that counts who has come to launch, before they wait their turn.
class CountingDevice final : public Device {
 public:
  [[nodiscard]] std::string_view name() const override { return "counting"; }
  [[nodiscard]] DeviceKind kind() const override { return cpu_.kind(); }
  [[nodiscard]] std::vector<LaneGrant> grant(std::span<const LaneRequest> lanes) const override {
    return cpu_.grant(lanes);
  }
  [[nodiscard]] Result<std::unique_ptr<DeviceMemory>> allocate(std::int64_t bytes) override {
    return cpu_.allocate(bytes);
  }
  [[nodiscard]] Result<LaunchStats> launch(const std::shared_ptr<Launch>& work,
                                           const WatchOptions& watch) override {
    ++came_;
    return cpu_.launch(work, watch);
  }
  [[nodiscard]] bool is_running_here() const override { return cpu_.is_running_here(); }
  void cancel() override { cpu_.cancel(); }

  void await_launches(int count) const {
    while (came_ < count) std::this_thread::yield();
  }

 private:
  CpuDevice cpu_;
  std::atomic<int> came_{0};
};

TEST(Reentry, IsRefusedForAnotherGraphOnTheSameDevice) {
  CpuDevice cpu;
  Program inner = with_body(cpu, [] {});
  Result<Stats> refused;
  Program outer = with_body(cpu, [&] { refused = inner.run({}); });
  ASSERT_THAT(outer.run({}), Works());
  EXPECT_THAT(refused, RefusedBy(kReentry));
}

TEST(Reentry, IsRefusedForAGraphThatWaitsForTheDeviceOnAnotherThread) {
  CountingDevice device;
  Program inner = with_body(device, [] {});
  Result<Stats> refused;
  Program outer = with_body(device, [&] {
    device.await_launches(2);
    refused = inner.run({});
  });
  std::thread other([&] {
    device.await_launches(1);
    EXPECT_THAT(inner.run({}), Works());
  });
  EXPECT_THAT(outer.run({}), Works());
  other.join();
  EXPECT_THAT(refused, RefusedBy(kReentry));
}

TEST(Reentry, IsRefusedByWayOfAnotherDevice) {
  CpuDevice near;
  CpuDevice far;
  std::optional<Program> outer;
  Result<Stats> refused;
  Program inner = with_body(far, [&] { refused = outer->run({}); });
  outer = with_body(near, [&] { EXPECT_THAT(inner.run({}), Works()); });
  ASSERT_THAT(outer->run({}), Works());
  EXPECT_THAT(refused, RefusedBy(kReentry));
}

TEST(Reentry, IsNoneForAGraphOnAnotherDevice) {
  CpuDevice near;
  CpuDevice far;
  Program inner = with_body(far, [] {});
  Result<Stats> ran;
  Program outer = with_body(near, [&] { ran = inner.run({}); });
  ASSERT_THAT(outer.run({}), Works());
  EXPECT_THAT(ran, Works());
}

TEST(Reentry, IsRefusedFromOnStall) {
  CpuDevice cpu;
  std::atomic<bool> reported{false};
  Program program = with_body(cpu, [&] {
    while (!reported) std::this_thread::yield();
  });
  Result<Stats> refused;
  RunOptions options;
  options.watch.stall_after = std::chrono::milliseconds(50);
  options.watch.on_stall = [&](const Diagnostic&) {
    refused = program.run({});
    reported = true;
  };
  ASSERT_THAT(program.run({}, options), RefusedBy(kStalled));
  EXPECT_THAT(refused, RefusedBy(kReentry));
}

}  // namespace
}  // namespace dynaflow::testing
