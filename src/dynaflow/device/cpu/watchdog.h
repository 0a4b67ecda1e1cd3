#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <latch>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "dynaflow/device/cpu/active_launch.h"

namespace dynaflow {

/// Ends a launch in which no lane completes a step for too long. One thread per device; it looks
/// at the launch in progress every now and then, and sleeps when there has been none for long, so
/// a launch pays for it with one load.
class Watchdog {
 public:
  explicit Watchdog(std::shared_ptr<ActiveLaunch> launch) : launch_(std::move(launch)) {}
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Starts the thread at first need, and returns when it runs: what a thread allocates to begin
  /// belongs to the first launch. Throws std::system_error when the system gives none.
  void start();

  /// After ActiveLaunch::begin: makes sure the next look comes soon enough.
  void watch(std::chrono::milliseconds stall_after);

 private:
  using Clock = std::chrono::steady_clock;

  enum class Order { kLook, kQuit };

  void serve();
  void look();
  void count_looks(const Glance& glance);
  [[nodiscard]] bool stalled(Clock::time_point now) const;
  [[nodiscard]] Clock::duration next_period() const;
  [[nodiscard]] Order sleep();
  void wake();

  std::shared_ptr<ActiveLaunch> launch_;
  std::latch running_{1};
  std::thread thread_;

  /// Until the next look; a launch that needs one sooner wakes us.
  std::atomic<Clock::rep> period_{0};

  std::mutex mutex_;
  std::condition_variable woken_up_;
  bool woken_ = false;  ///< guarded by mutex_
  bool quit_ = false;   ///< guarded by mutex_

  // Used by the thread alone.
  Glance last_;
  std::chrono::milliseconds last_stall_after_{0};
  int still_looks_ = 0;         ///< looks in a row at a launch that did not move
  int idle_looks_ = 0;          ///< looks in a row without any launch
  std::uint64_t reported_ = 0;  ///< the launch whose stall was reported last
};

}  // namespace dynaflow
