#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dynaflow/base/lane.h"
#include "dynaflow/base/result.h"

namespace dynaflow {

/// Two kinds of device run the same Program.
enum class DeviceKind {
  kExecuting,  ///< each lane's own thread runs its steps (a CPU)
  kIssuing,    ///< one host thread enqueues all steps, in recorded order, on asynchronous queues
};

/// Whether some step waits for the completion of this very one. To tell the other lanes costs more
/// than an empty step, so a device may keep a completion that nobody awaits to itself until the
/// lane's last step is complete.
enum class Awaited : std::uint8_t { kNo, kYes };

/// One step as a device sees it: a lane, and what must be complete before it starts.
struct LaunchStep {
  std::uint32_t lane = 0;
  std::uint32_t first_wait = 0;  ///< index into Launch::waits
  std::uint32_t wait_count = 0;
  Awaited awaited = Awaited::kYes;  ///< always right, if not always needed: see mark_awaited
};

/// The work of one run. Made once per Program and launched many times; a device borrows it for the
/// run, and a lane that a stall left behind keeps it alive until its step returns.
class Launch {
 public:
  virtual ~Launch() = default;

  std::vector<LaunchStep> steps;  ///< in recorded order
  std::vector<Wait> waits;
  std::vector<LaneGrant> lanes;                        ///< as the device granted them
  std::vector<std::vector<std::uint32_t>> lane_steps;  ///< per lane, its step indices in order

  /// Finds out which steps are awaited. For the maker of a launch, when its steps and waits are
  /// all there; a launch that was never marked runs the same, only slower. O(steps + waits).
  void mark_awaited();

  /// Runs one step's body. May throw: the device turns that into the run's first error.
  /// An issuing device calls it from whatever stands for the lane's queue.
  virtual void run_step(std::uint32_t step) = 0;

  /// The launch ends early: a step that waits for another inside its body must return or throw.
  /// Called once by the device that ends it, from any thread, with locks of the device held.
  virtual void abort() {}

  /// For messages: "layers.3.attn on microbatch 1".
  [[nodiscard]] virtual std::string describe(std::uint32_t step) const = 0;

 protected:
  Launch() = default;
  Launch(const Launch&) = default;
  Launch& operator=(const Launch&) = default;
};

/// How the run is watched. A stall is no step completing on any lane for `stall_after`.
struct WatchOptions {
  std::chrono::milliseconds stall_after{60'000};  ///< zero: never
  /// Called from the watchdog's thread with the finding as soon as a stall is seen. The run
  /// itself returns the same finding as soon as the calling thread is free to return.
  std::function<void(const Diagnostic&)> on_stall = {};
};

/// Memory of a device, given back on destruction. Aligned to at least 64 bytes.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  [[nodiscard]] virtual std::byte* data() const = 0;
  [[nodiscard]] virtual std::int64_t size() const = 0;
};

/// Counts of one launch that only the device can see.
struct LaunchStats {
  std::uint64_t waits = 0;   ///< waits evaluated
  std::uint64_t spins = 0;   ///< waits that were not satisfied at once
  std::uint64_t sleeps = 0;  ///< waits that went to sleep in the kernel
};

/// Lanes, completion counters and memory: all that the runtime knows of hardware.
///
/// One launch at a time per device: a second thread waits its turn, and a launch from inside a
/// running step is refused (R4 re-entry), since it would wait for itself. After a local failure
/// the next launch works. After a stall, launches are refused (R5 lane-lost) until the step that
/// did not return has returned.
class Device {
 public:
  virtual ~Device() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual DeviceKind kind() const = 0;

  /// Which part of the device each lane gets. Never fails: what was asked and what was given are
  /// both reported, and a device that is too small says so by giving less.
  [[nodiscard]] virtual std::vector<LaneGrant> grant(std::span<const LaneRequest> lanes) const = 0;

  /// At least `bytes` bytes (zero is allowed), or R7 out-of-memory.
  [[nodiscard]] virtual Result<std::unique_ptr<DeviceMemory>> allocate(std::int64_t bytes) = 0;

  /// Runs every step, each lane in order, each step after its waits, and returns when all lanes are
  /// quiet. First error wins: the lanes drain without starting further steps, and the error names
  /// the step (Launch::describe) and the lane. Allocates nothing in steady state.
  [[nodiscard]] virtual Result<LaunchStats> launch(const std::shared_ptr<Launch>& work,
                                                   const WatchOptions& watch) = 0;

  /// Whether the calling thread is inside a step of this device, or inside its on_stall: whoever
  /// would wait for the device must ask first. Never blocks. It looks at this thread only: runs
  /// that come back over another device's worker lane are not seen, and end in a stall.
  [[nodiscard]] virtual bool is_running_here() const = 0;

  /// Ends the launch in progress, if any, with R3 cancelled; safe from any thread, including from
  /// inside a step. Steps that have started finish; nothing else starts.
  virtual void cancel() = 0;
};

}  // namespace dynaflow
