#include "dynaflow/device/cpu/active_launch.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "dynaflow/base/check.h"
#include "dynaflow/device/cpu/findings.h"
#include "dynaflow/device/cpu/step_scope.h"

namespace dynaflow {
namespace {

using Clock = std::chrono::steady_clock;

/// Zero: not to be watched. Longer than this is as good as never, and would overflow the clock.
std::chrono::milliseconds patience(const WatchOptions* watch) {
  constexpr std::chrono::milliseconds kYear = std::chrono::hours(24 * 365);
  if (watch == nullptr) return std::chrono::milliseconds(0);
  return std::clamp(watch->stall_after, std::chrono::milliseconds(0), kYear);
}

}  // namespace

std::optional<Diagnostic> ActiveLaunch::lost_lane() const {
  if (running_.count() == 0) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return lane_lost(lost_);
}

void ActiveLaunch::begin(const std::shared_ptr<Launch>& work, const WatchOptions& watch,
                         std::uint32_t first_worker) {
  const std::size_t lanes = work->lane_steps.size();
  DYNAFLOW_CHECK(work->lanes.size() == lanes);
  const std::lock_guard lock(mutex_);
  DYNAFLOW_CHECK(watch_ == nullptr && running_.count() == 0);
  make_room(lanes);
  std::uint32_t busy = 0;
  std::uint32_t workers = 0;
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    counter(lane).reset();
    lanes_[lane].completed.store(0, std::memory_order_relaxed);
    if (work->lane_steps[lane].empty()) continue;  // and stays quiet
    set_state(lane, LaneState::kBetweenSteps);
    ++busy;
    if (lane >= first_worker) ++workers;
  }
  aborted_.store(false, std::memory_order_relaxed);
  pauses_ = pauses_for(busy);
  caller_pauses_ = pauses_for(workers + 1);
  running_.start(workers);
  work_ = work;
  watch_ = &watch;
  ++serial_;
}

int ActiveLaunch::pauses_for(std::uint32_t threads) const {
  return threads > cores_ ? kCrowdedSpinPauses : spin_pauses();
}

void ActiveLaunch::make_room(std::size_t lanes) {
  if (lanes <= room_) return;
  lanes_ = std::make_unique<Lane[]>(lanes);
  counters_ = std::make_unique<CounterLine[]>((lanes - 1) / CounterLine::kCounters + 1);
  room_ = lanes;
}

void ActiveLaunch::await_quiet() {
  if (running_.await_quiet(caller_pauses_) == RunningLanes::Ending::kGivenUp) await_settled();
}

// Lanes that were waiting see the abort and leave at once; those inside a step are left behind.
// Only after a stall, so looking again every now and then is good enough.
void ActiveLaunch::await_settled() const {
  for (std::uint32_t lane = 0; lane < work_->lanes.size(); ++lane) {
    while (state(lane) == LaneState::kBetweenSteps) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
}

Result<LaunchStats> ActiveLaunch::end() {
  std::unique_lock lock(mutex_);
  reported_.wait(lock, [&] { return !reporting_; });
  watch_ = nullptr;
  const std::shared_ptr<Launch> work = std::move(work_);
  if (findings_.empty()) [[likely]]
    return total_stats(*work);
  if (running_.count() != 0) lost_ = describe_lost_lanes(*work);
  return Unexpected(Error(std::exchange(findings_, {})));
}

LaunchStats ActiveLaunch::total_stats(const Launch& work) const {
  LaunchStats total;
  for (std::uint32_t lane = 0; lane < work.lanes.size(); ++lane) {
    if (work.lane_steps[lane].empty()) continue;
    const LaunchStats& stats = lanes_[lane].stats;
    total.waits += stats.waits;
    total.spins += stats.spins;
    total.sleeps += stats.sleeps;
  }
  return total;
}

std::string ActiveLaunch::describe_lost_lanes(const Launch& work) const {
  std::string text;
  for (std::uint32_t lane = 0; lane < work.lanes.size(); ++lane) {
    const std::uint32_t done = completed(lane);
    const std::vector<std::uint32_t>& own = work.lane_steps[lane];
    if (state(lane) == LaneState::kQuiet || done >= own.size()) continue;
    if (!text.empty()) text += ", ";
    text += work.describe(own[done]) + " on lane " + work.lanes[lane].name;
  }
  return text;
}

void ActiveLaunch::run_lane(Launch& work, std::uint32_t lane) {
  const StepScope scope(*this, work, lane);
  LaunchStats stats;
  try {
    run_steps(work, lane, stats);
  } catch (const std::exception& error) {
    fail(work, lane, error);
  } catch (...) {
    fail(work, lane, std::runtime_error("unknown exception"));
  }
  lanes_[lane].stats = stats;
}

// The hot loop: per step, one look per wait, one look for an abort, the body, one completion for
// the record and, if it is awaited, one for the other lanes.
void ActiveLaunch::run_steps(Launch& work, std::uint32_t lane, LaunchStats& stats) {
  std::uint32_t done = 0;
  std::uint32_t untold = 0;  // of those done, since the other lanes were told last
  for (const std::uint32_t index : work.lane_steps[lane]) {
    const LaunchStep& step = work.steps[index];
    if (await_waits(work, step, stats) == Arrival::kAborted) return;
    if (aborted_.load(std::memory_order_relaxed)) return;
    set_state(lane, LaneState::kInsideStep);
    work.run_step(index);
    set_state(lane, LaneState::kBetweenSteps);
    lanes_[lane].completed.store(++done, std::memory_order_relaxed);
    ++untold;
    if (step.awaited == Awaited::kYes) counter(lane).complete(std::exchange(untold, 0));
  }
  counter(lane).finish(untold);
}

inline Arrival ActiveLaunch::await_waits(const Launch& work, const LaunchStep& step,
                                         LaunchStats& stats) {
  for (std::uint32_t i = 0; i < step.wait_count; ++i) {
    const Wait& wait = work.waits[step.first_wait + i];
    const Arrival arrival = counter(wait.lane).await(wait.count, pauses_);
    if (arrival == Arrival::kAborted) return arrival;
    ++stats.waits;
    if (arrival != Arrival::kAtOnce) ++stats.spins;
    if (arrival == Arrival::kSlept) ++stats.sleeps;
  }
  return Arrival::kAtOnce;
}

void ActiveLaunch::leave_worker(std::uint32_t lane) {
  set_state(lane, LaneState::kQuiet);
  running_.leave();
}

void ActiveLaunch::fail(const Launch& work, std::uint32_t lane, const std::exception& failure) {
  Diagnostic finding = body_failed(work, lane, completed(lane), failure);
  const std::lock_guard lock(mutex_);
  if (watch_ == nullptr || !findings_.empty()) return;
  findings_.push_back(std::move(finding));
  abort_lanes();
}

void ActiveLaunch::cancel() {
  const std::lock_guard lock(mutex_);
  if (watch_ == nullptr || !findings_.empty()) return;
  std::uint32_t done = 0;
  for (std::uint32_t lane = 0; lane < work_->lanes.size(); ++lane) done += completed(lane);
  findings_.push_back(cancelled(*work_, done));
  abort_lanes();
}

void ActiveLaunch::abort_lanes() {
  aborted_.store(true, std::memory_order_relaxed);
  for (std::uint32_t lane = 0; lane < work_->lanes.size(); ++lane) counter(lane).abort();
  work_->abort();
}

std::optional<Diagnostic> ActiveLaunch::reentry() const {
  const StepScope* scope = StepScope::find(*this);
  if (scope == nullptr) return std::nullopt;
  if (!scope->lane()) return reentered("inside WatchOptions::on_stall");
  const std::uint32_t lane = *scope->lane();
  return reentered(place_of(scope->work(), lane, completed(lane)));
}

Glance ActiveLaunch::look(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  const bool first_look = last_glance_.serial != serial_;
  last_glance_.serial = serial_;
  last_glance_.stall_after = patience(watch_);
  if (watch_ == nullptr) return last_glance_;
  for (std::uint32_t i = 0; i < work_->lanes.size(); ++i) {
    Lane& lane = lanes_[i];
    const std::uint32_t done = completed(i);
    if (!first_look && done == lane.seen) continue;
    lane.seen = done;
    lane.since = now;
    last_glance_.still_since = now;
  }
  return last_glance_;
}

// The lanes are aborted before on_stall is told, lest it frees the step that is stuck and others
// follow. The caller stays until on_stall has returned, since it lent us the watch.
void ActiveLaunch::end_stalled(const Glance& glance) {
  std::unique_lock lock(mutex_);
  if (watch_ == nullptr || moved_since(glance) || all_quiet()) return;
  const Diagnostic finding = stalled(*work_, glance.stall_after, sight_lanes());
  findings_.push_back(finding);
  abort_lanes();
  reporting_ = true;
  lock.unlock();
  report_stall(finding);
  lock.lock();
  reporting_ = false;
  running_.give_up();
  reported_.notify_all();
}

bool ActiveLaunch::moved_since(const Glance& glance) const {
  if (serial_ != glance.serial) return true;
  for (std::uint32_t lane = 0; lane < work_->lanes.size(); ++lane) {
    if (completed(lane) != lanes_[lane].seen) return true;
  }
  return false;
}

bool ActiveLaunch::all_quiet() const {
  for (std::uint32_t lane = 0; lane < work_->lanes.size(); ++lane) {
    if (state(lane) != LaneState::kQuiet) return false;
  }
  return true;
}

std::vector<LaneSighting> ActiveLaunch::sight_lanes() const {
  const Clock::time_point now = Clock::now();
  std::vector<LaneSighting> sightings;
  sightings.reserve(work_->lanes.size());
  for (std::uint32_t lane = 0; lane < work_->lanes.size(); ++lane) {
    sightings.push_back({state(lane), lanes_[lane].seen, now - lanes_[lane].since});
  }
  return sightings;
}

// An exception from on_stall has nowhere to go: the finding it was told of is returned anyway.
void ActiveLaunch::report_stall(const Diagnostic& finding) const {
  if (!watch_->on_stall) return;
  const StepScope scope(*this, *work_, std::nullopt);
  try {
    watch_->on_stall(finding);
  } catch (...) {  // NOLINT(bugprone-empty-catch): see above
  }
}

}  // namespace dynaflow
