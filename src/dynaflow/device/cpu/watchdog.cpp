#include "dynaflow/device/cpu/watchdog.h"

#include <algorithm>

namespace dynaflow {
namespace {

using Clock = std::chrono::steady_clock;

// Eight looks per stall_after see a stall at most a quarter late; once a second is enough for a
// person, and once a millisecond is all that a core should be bothered with.
constexpr int kLooksPerStall = 8;
constexpr Clock::duration kShortestPeriod = std::chrono::milliseconds(1);
constexpr std::chrono::milliseconds kLongestPeriod = std::chrono::seconds(1);
constexpr Clock::duration kForever = Clock::duration::max();

// A stall is so many looks without progress, not only time: a process that was stopped for a
// minute finds that time has passed, and has not stalled.
constexpr int kStillLooks = 4;

// Launches that follow each other within so many looks find the watchdog awake.
constexpr int kIdleLooks = 16;

Clock::duration period_for(std::chrono::milliseconds stall_after) {
  if (stall_after > kLooksPerStall * kLongestPeriod) return kLongestPeriod;
  return std::max(Clock::duration(stall_after) / kLooksPerStall, kShortestPeriod);
}

}  // namespace

Watchdog::~Watchdog() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
  }
  wake();
  thread_.join();
}

void Watchdog::start() {
  if (thread_.joinable()) return;
  thread_ = std::thread([this] {
    running_.count_down();
    serve();
  });
  running_.wait();
}

void Watchdog::watch(std::chrono::milliseconds stall_after) {
  if (period_.load(std::memory_order_relaxed) > period_for(stall_after).count()) wake();
}

void Watchdog::wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  woken_up_.notify_one();
}

// The period is announced before the look, and a launch begins (under the launch's mutex) before
// it reads the period. So a launch that the look missed reads at least this announcement, and
// wakes us if it is too long. Afterwards it only gets shorter.
void Watchdog::serve() {
  do {
    period_.store(next_period().count(), std::memory_order_relaxed);
    look();
    const Clock::rep needed = next_period().count();
    if (needed < period_.load(std::memory_order_relaxed)) {
      period_.store(needed, std::memory_order_relaxed);
    }
  } while (sleep() == Order::kLook);
}

Clock::duration Watchdog::next_period() const {
  return idle_looks_ < kIdleLooks ? period_for(last_stall_after_) : kForever;
}

Watchdog::Order Watchdog::sleep() {
  std::unique_lock lock(mutex_);
  const Clock::duration period(period_.load(std::memory_order_relaxed));
  const auto woken = [&] { return woken_; };
  if (period == kForever) {
    woken_up_.wait(lock, woken);
  } else {
    woken_up_.wait_for(lock, period, woken);
  }
  woken_ = false;
  return quit_ ? Order::kQuit : Order::kLook;
}

void Watchdog::look() {
  const Clock::time_point now = Clock::now();
  count_looks(launch_->look(now));
  if (!stalled(now)) return;
  reported_ = last_.serial;
  launch_->end_stalled(last_);
}

void Watchdog::count_looks(const Glance& glance) {
  const bool watching = glance.stall_after.count() > 0;
  const bool same_launch = glance.serial == last_.serial;
  const bool still = same_launch && glance.still_since == last_.still_since;
  still_looks_ = still ? std::min(still_looks_ + 1, kStillLooks) : 0;
  idle_looks_ = same_launch && !watching ? std::min(idle_looks_ + 1, kIdleLooks) : 0;
  if (watching) last_stall_after_ = glance.stall_after;
  last_ = glance;
}

bool Watchdog::stalled(Clock::time_point now) const {
  return last_.stall_after.count() > 0 && last_.serial != reported_ &&
         still_looks_ == kStillLooks && now - last_.still_since >= last_.stall_after;
}

}  // namespace dynaflow
