#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dynaflow/base/result.h"
#include "dynaflow/device/cpu/lane_counter.h"
#include "dynaflow/device/cpu/running_lanes.h"
#include "dynaflow/device/cpu/spin.h"
#include "dynaflow/device/cpu/wait_for_graph.h"
#include "dynaflow/device/device.h"

namespace dynaflow {

/// What the watchdog sees when it looks.
struct Glance {
  std::uint64_t serial = 0;                           ///< counts launches; the same while one lasts
  std::chrono::milliseconds stall_after{0};           ///< zero: there is no launch to watch
  std::chrono::steady_clock::time_point still_since;  ///< the last look that saw a lane move
};

/// The launch that a CPU device has in progress, shared by its caller, its lanes and its watchdog.
/// One per device and reused by every launch; a lane that a stall left behind keeps it alive, and
/// until that lane is quiet no other launch begins. Beginning, ending and failing hold `mutex_`.
///
/// A lane counts its steps twice: each one for the record (watchdog, messages) in memory that it
/// has to itself, and those that are awaited for the other lanes, in counters that they share.
class ActiveLaunch {
 public:
  explicit ActiveLaunch(std::uint32_t cores) : cores_(cores) {}

  // The caller, one at a time, in this order.

  /// R5 while a lane that a stall left behind is not quiet.
  [[nodiscard]] std::optional<Diagnostic> lost_lane() const;
  /// Lanes from `first_worker` on that have steps will each call `leave_worker` once. The watch is
  /// borrowed until `end`.
  void begin(const std::shared_ptr<Launch>& work, const WatchOptions& watch,
             std::uint32_t first_worker);
  /// Waits for the workers; after a stall, only for those not inside a step.
  void await_quiet();
  [[nodiscard]] Result<LaunchStats> end();

  // Each lane, on its own thread.

  /// A worker holds this from before its first step until before it leaves.
  [[nodiscard]] std::shared_ptr<Launch> work() const { return work_; }
  /// How often to look again before a sleep.
  [[nodiscard]] int pauses() const { return pauses_; }
  /// More lanes than cores.
  [[nodiscard]] bool is_crowded() const { return pauses_ == kCrowdedSpinPauses; }
  /// Runs the lane's steps up to the end or the first error. Never throws.
  void run_lane(Launch& work, std::uint32_t lane);
  void leave_caller(std::uint32_t lane) { set_state(lane, LaneState::kQuiet); }
  void leave_worker(std::uint32_t lane);

  // Any thread.

  [[nodiscard]] LaneState state(std::uint32_t lane) const {
    if (lane >= room_) return LaneState::kQuiet;  // no launch has had this lane yet
    return lanes_[lane].state.load(std::memory_order_acquire);
  }
  /// Ends the launch with R3, if there is one.
  void cancel();
  /// R4 when the calling thread is inside a step of this launch.
  [[nodiscard]] std::optional<Diagnostic> reentry() const;

  // The watchdog.

  [[nodiscard]] Glance look(std::chrono::steady_clock::time_point now);
  /// Ends the launch with R2, unless it moved on since it was looked at.
  void end_stalled(const Glance& glance);

 private:
  static constexpr std::size_t kCacheLine = 64;

  /// Written by the lane at every step, and seldom looked at by others.
  struct alignas(kCacheLine) Lane {
    std::atomic<LaneState> state{LaneState::kQuiet};
    std::atomic<std::uint32_t> completed{0};  ///< steps, awaited or not
    LaunchStats stats;                        ///< written by the lane before it leaves
    // At the watchdog's last look; guarded by mutex_.
    std::uint32_t seen = 0;                       ///< completed steps
    std::chrono::steady_clock::time_point since;  ///< the look that saw them first
  };

  /// Counters side by side, and nothing else: a lane that looks at another's count has, with the
  /// same cache miss, fetched the line that it will write its own to.
  struct alignas(kCacheLine) CounterLine {
    static constexpr std::size_t kCounters = kCacheLine / sizeof(LaneCounter);
    std::array<LaneCounter, kCounters> counters;
  };

  // On a lane's thread.
  void run_steps(Launch& work, std::uint32_t lane, LaunchStats& stats);
  [[nodiscard]] Arrival await_waits(const Launch& work, const LaunchStep& step, LaunchStats& stats);
  void set_state(std::uint32_t lane, LaneState state) {
    lanes_[lane].state.store(state, std::memory_order_release);
  }
  [[nodiscard]] LaneCounter& counter(std::uint32_t lane) {
    return counters_[lane / CounterLine::kCounters].counters[lane % CounterLine::kCounters];
  }
  /// The first error ends the launch; later ones, and those of a lane left behind, are dropped.
  void fail(const Launch& work, std::uint32_t lane, const std::exception& failure);

  /// The steps of a lane that are complete, awaited or not.
  [[nodiscard]] std::uint32_t completed(std::uint32_t lane) const {
    return lanes_[lane].completed.load(std::memory_order_relaxed);
  }

  // With mutex_ held.
  void make_room(std::size_t lanes);
  void abort_lanes();
  [[nodiscard]] bool moved_since(const Glance& glance) const;
  [[nodiscard]] bool all_quiet() const;
  [[nodiscard]] std::vector<LaneSighting> sight_lanes() const;
  [[nodiscard]] std::string describe_lost_lanes(const Launch& work) const;
  [[nodiscard]] LaunchStats total_stats(const Launch& work) const;

  [[nodiscard]] int pauses_for(std::uint32_t threads) const;
  void await_settled() const;
  void report_stall(const Diagnostic& finding) const;

  const std::uint32_t cores_;

  // Written by the caller while no lane runs, read by the lanes.
  std::shared_ptr<Launch> work_;
  std::unique_ptr<Lane[]> lanes_;
  std::unique_ptr<CounterLine[]> counters_;
  std::size_t room_ = 0;  ///< how many lanes there is memory for; only ever grows
  int pauses_ = 0;
  int caller_pauses_ = 0;  ///< the caller may be one thread more than there are lanes
  /// Lanes start no further step. Set by whoever ends the launch early; next to what does not
  /// change while lanes run, since each looks at it before every step.
  std::atomic<bool> aborted_{false};
  RunningLanes running_;

  mutable std::mutex mutex_;
  std::uint64_t serial_ = 0;             ///< guarded by mutex_, like all below
  const WatchOptions* watch_ = nullptr;  ///< null: no launch in progress
  Glance last_glance_;
  std::vector<Diagnostic> findings_;  ///< first error first
  std::string lost_;                  ///< which steps a stall left behind, for R5
  bool reporting_ = false;            ///< the watchdog is inside on_stall
  std::condition_variable reported_;
};

}  // namespace dynaflow
