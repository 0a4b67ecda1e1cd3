#include "dynaflow/device/cpu/lane_thread.h"

#include <atomic>
#include <chrono>
#include <utility>
#include <vector>

#include "dynaflow/device/cpu/core_set.h"
#include "dynaflow/device/cpu/futex.h"
#include "dynaflow/device/cpu/spin.h"

namespace dynaflow {

/// One order at a time, from the device to the thread. That the thread sleeps is part of the same
/// word, so whoever posts knows whether to wake it.
class alignas(64) LaneThread::Mailbox {
 public:
  enum Order : std::uint32_t { kNone, kAsleep, kRun, kQuit };

  void post(Order order) {
    if (word_.exchange(order, std::memory_order_acq_rel) == kAsleep) futex_wake(word_);
  }

  [[nodiscard]] bool posted_within(int pauses) const {
    return spin_until(pauses, [&] { return current() != kNone; });
  }

  [[nodiscard]] Order take() {
    if (current() == kNone) sleep_until_posted();
    return static_cast<Order>(word_.exchange(kNone, std::memory_order_acq_rel));
  }

 private:
  [[nodiscard]] std::uint32_t current() const { return word_.load(std::memory_order_relaxed); }

  void sleep_until_posted() {
    std::uint32_t none = kNone;
    word_.compare_exchange_strong(none, kAsleep, std::memory_order_relaxed);
    while (current() == kAsleep) futex_wait(word_, kAsleep);
  }

  std::atomic<std::uint32_t> word_{kNone};
};

namespace {

using Clock = std::chrono::steady_clock;

/// Orders that follow each other this closely find the lane awake: to wake it costs the caller 10
/// to 25 µs, and another 30 to 60 µs pass before the lane runs.
constexpr std::chrono::microseconds kSoon{400};

/// Moves the calling thread to `cores`, unless it is where `pinned` says already.
void pin_if_changed(const std::vector<int>& cores, std::vector<int>& pinned) {
  if (cores.empty() || cores == pinned) return;
  CoreSet(cores).pin_this_thread();
  pinned = cores;
}

}  // namespace

LaneThread::LaneThread(std::shared_ptr<ActiveLaunch> launch, std::uint32_t lane)
    : launch_(std::move(launch)), lane_(lane), mailbox_(std::make_shared<Mailbox>()) {
  thread_ =
      std::thread([mailbox = mailbox_, active = launch_, lane] { serve(*mailbox, *active, lane); });
}

LaneThread::~LaneThread() {
  mailbox_->post(Mailbox::kQuit);
  if (launch_->state(lane_) == LaneState::kQuiet) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

void LaneThread::wake() { mailbox_->post(Mailbox::kRun); }

void LaneThread::serve(Mailbox& mailbox, ActiveLaunch& launch, std::uint32_t lane) {
  std::vector<int> pinned;
  int pauses = spin_pauses();
  Clock::time_point idle = Clock::now();
  Clock::time_point awake_until = idle;
  const auto next_order = [&] {
    while (!mailbox.posted_within(pauses) && Clock::now() < awake_until) {
    }
    return mailbox.take();
  };
  while (next_order() == Mailbox::kRun) {
    const bool soon = Clock::now() - idle < kSoon;
    std::shared_ptr<Launch> work = launch.work();
    pin_if_changed(work->lanes[lane].cores, pinned);
    pauses = launch.pauses();
    launch.run_lane(*work, lane);
    work.reset();
    const bool stays = soon && !launch.is_crowded();
    launch.leave_worker(lane);
    idle = Clock::now();
    awake_until = stays ? idle + kSoon : idle;
  }
}

}  // namespace dynaflow
