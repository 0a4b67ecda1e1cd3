#include "support/queue_device.h"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <utility>

namespace dynaflow::testing {
namespace {

/// The device whose step, or on_stall, the calling thread is inside of.
thread_local const Device* inside_device = nullptr;

class InsideScope {
 public:
  explicit InsideScope(const Device* device) : outer_(std::exchange(inside_device, device)) {}
  ~InsideScope() { inside_device = outer_; }
  InsideScope(const InsideScope&) = delete;
  InsideScope& operator=(const InsideScope&) = delete;

 private:
  const Device* outer_;
};

class HeapMemory final : public DeviceMemory {
 public:
  HeapMemory(void* data, std::int64_t size) : data_(data), size_(size) {}
  ~HeapMemory() override { std::free(data_); }
  HeapMemory(const HeapMemory&) = delete;
  HeapMemory& operator=(const HeapMemory&) = delete;
  [[nodiscard]] std::byte* data() const override { return static_cast<std::byte*>(data_); }
  [[nodiscard]] std::int64_t size() const override { return size_; }

 private:
  void* data_;
  std::int64_t size_;
};

}  // namespace

class QueueDevice::Queue {
 public:
  Queue() : state_(std::make_shared<State>()), thread_([state = state_] { serve(*state); }) {}
  ~Queue() {
    enqueue(nullptr);
    if (thread_.joinable()) thread_.join();
  }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  /// An empty task ends the thread.
  void enqueue(std::function<void()> task) {
    const std::lock_guard lock(state_->mutex);
    state_->tasks.push_back(std::move(task));
    state_->filled.notify_one();
  }

  /// For a queue that is stuck: the thread goes on alone.
  void abandon() { thread_.detach(); }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable filled;
    std::deque<std::function<void()>> tasks;
  };

  static std::function<void()> next(State& state) {
    std::unique_lock lock(state.mutex);
    state.filled.wait(lock, [&] { return !state.tasks.empty(); });
    std::function<void()> task = std::move(state.tasks.front());
    state.tasks.pop_front();
    return task;
  }
  static void serve(State& state) {
    while (std::function<void()> task = next(state)) task();
  }

  std::shared_ptr<State> state_;
  std::thread thread_;
};

class QueueDevice::Issued {
 public:
  Issued(const Device* device, std::shared_ptr<Launch> work)
      : device_(device), work_(std::move(work)), lanes_(work_->lanes.size()) {}

  // On a lane's queue.
  void await(std::uint32_t lane, const Wait& wait, std::uint32_t step);
  void run(std::uint32_t lane, std::uint32_t step);
  void drain(std::uint32_t lane);

  // On the host.
  Result<LaunchStats> synchronise(const WatchOptions& watch);
  std::string describe_stuck();      ///< empty when every lane has drained
  bool drained(std::uint32_t lane);  ///< also when the launch does not have this lane

  void cancel();

 private:
  struct Lane {
    std::uint32_t completed = 0;
    bool inside = false;
    bool drained = false;
    std::string doing = "about to start";  ///< for the wait-for graph
  };

  // With mutex_ held.
  void end(Diagnostic finding);
  [[nodiscard]] bool all(bool (*holds)(const Lane&)) const;
  [[nodiscard]] Diagnostic stalled() const;
  [[nodiscard]] Diagnostic failed(std::uint32_t lane, std::uint32_t step,
                                  const std::string& what) const;
  [[nodiscard]] std::string lane_name(std::size_t lane) const {
    return "lane " + work_->lanes[lane].name;
  }

  std::string try_step(std::uint32_t step);  ///< what it threw, or nothing

  const Device* device_;
  const std::shared_ptr<Launch> work_;
  std::mutex mutex_;
  std::condition_variable moved_;
  std::vector<Lane> lanes_;  ///< guarded by mutex_, like all below
  std::vector<Diagnostic> findings_;
  std::uint64_t progress_ = 0;  ///< completed steps of all lanes
  LaunchStats stats_;
};

void QueueDevice::Issued::await(std::uint32_t lane, const Wait& wait, std::uint32_t step) {
  std::unique_lock lock(mutex_);
  const auto over = [&] { return !findings_.empty() || lanes_[wait.lane].completed >= wait.count; };
  ++stats_.waits;
  if (over()) return;
  ++stats_.spins;
  ++stats_.sleeps;
  lanes_[lane].doing = "waits for " + lane_name(wait.lane) + " to complete " +
                       std::to_string(wait.count) + " steps, before " + work_->describe(step);
  moved_.wait(lock, over);
}

void QueueDevice::Issued::run(std::uint32_t lane, std::uint32_t step) {
  std::unique_lock lock(mutex_);
  if (!findings_.empty()) return;
  lanes_[lane].inside = true;
  lanes_[lane].doing = "inside " + work_->describe(step);
  lock.unlock();
  const std::string what = try_step(step);
  lock.lock();
  lanes_[lane].inside = false;
  if (what.empty()) {
    ++lanes_[lane].completed;
    ++progress_;
  } else if (findings_.empty()) {
    end(failed(lane, step, what));
  }
  moved_.notify_all();
}

std::string QueueDevice::Issued::try_step(std::uint32_t step) {
  const InsideScope scope(device_);
  try {
    work_->run_step(step);
    return "";
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "unknown exception";
  }
}

void QueueDevice::Issued::drain(std::uint32_t lane) {
  const std::lock_guard lock(mutex_);
  lanes_[lane].drained = true;
  lanes_[lane].doing = "finished";
  moved_.notify_all();
}

void QueueDevice::Issued::cancel() {
  const std::lock_guard lock(mutex_);
  if (!findings_.empty()) return;
  end({kCancelled, "the run was cancelled",
       "after " + std::to_string(progress_) + " of " + std::to_string(work_->steps.size()) +
           " steps",
       "run again"});
}

void QueueDevice::Issued::end(Diagnostic finding) {
  findings_.push_back(std::move(finding));
  work_->abort();
  moved_.notify_all();
}

Diagnostic QueueDevice::Issued::failed(std::uint32_t lane, std::uint32_t step,
                                       const std::string& what) const {
  const std::string place = lane_name(lane) + ", step " +
                            std::to_string(lanes_[lane].completed + 1) + " of " +
                            std::to_string(work_->lane_steps[lane].size());
  return {kBodyFailed, work_->describe(step) + " failed on " + lane_name(lane) + ": " + what, place,
          "correct what this step's body is given or does"};
}

Diagnostic QueueDevice::Issued::stalled() const {
  std::string message = "no lane completed a step";
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    message += "\n" + lane_name(lane) + ": " + lanes_[lane].doing;
  }
  return {kStalled, message, "", "find what the step waits for"};
}

bool QueueDevice::Issued::all(bool (*holds)(const Lane&)) const {
  return std::all_of(lanes_.begin(), lanes_.end(), holds);
}

bool QueueDevice::Issued::drained(std::uint32_t lane) {
  const std::lock_guard lock(mutex_);
  return lane >= lanes_.size() || lanes_[lane].drained;
}

std::string QueueDevice::Issued::describe_stuck() {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    if (!lanes_[lane].drained) text += lane_name(lane) + " is " + lanes_[lane].doing + ". ";
  }
  return text;
}

Result<LaunchStats> QueueDevice::Issued::synchronise(const WatchOptions& watch) {
  const auto quiet = [&] { return all([](const Lane& lane) { return lane.drained; }); };
  std::unique_lock lock(mutex_);
  while (!quiet()) {
    const auto moved = [&, before = progress_] { return quiet() || progress_ != before; };
    if (watch.stall_after.count() == 0) {
      moved_.wait(lock, moved);
    } else if (!moved_.wait_for(lock, watch.stall_after, moved)) {
      const Diagnostic finding = stalled();
      end(finding);
      lock.unlock();
      const InsideScope scope(device_);
      if (watch.on_stall) watch.on_stall(finding);
      lock.lock();
      moved_.wait(lock, [&] { return all([](const Lane& l) { return l.drained || l.inside; }); });
      break;
    }
  }
  if (findings_.empty()) return stats_;
  return Unexpected(Error(findings_));
}

QueueDevice::QueueDevice() = default;

QueueDevice::~QueueDevice() {
  if (left_behind_ == nullptr) return;
  for (std::uint32_t lane = 0; lane < queues_.size(); ++lane) {
    if (!left_behind_->drained(lane)) queues_[lane]->abandon();
  }
}

std::vector<LaneGrant> QueueDevice::grant(std::span<const LaneRequest> lanes) const {
  std::vector<LaneGrant> grants;
  for (const LaneRequest& lane : lanes) grants.push_back({lane.name, lane.share, {}});
  return grants;
}

Result<std::unique_ptr<DeviceMemory>> QueueDevice::allocate(std::int64_t bytes) {
  const Diagnostic refusal{kOutOfMemory, "cannot allocate " + std::to_string(bytes) + " bytes", "",
                           "ask for less"};
  if (bytes < 0) return Unexpected(Error(refusal));
  void* data = std::aligned_alloc(64, (static_cast<std::size_t>(bytes) / 64 + 1) * 64);
  if (data == nullptr) return Unexpected(Error(refusal));
  return std::make_unique<HeapMemory>(data, bytes);
}

Result<LaunchStats> QueueDevice::launch(const std::shared_ptr<Launch>& work,
                                        const WatchOptions& watch) {
  if (inside_device == this) {
    return Unexpected(Error({kReentry, "launch inside a launch", "", "launch afterwards"}));
  }
  const std::lock_guard turn(turn_);
  const std::string stuck = left_behind_ == nullptr ? "" : left_behind_->describe_stuck();
  if (!stuck.empty()) return Unexpected(Error({kLaneLost, stuck, "", "let it return"}));
  while (queues_.size() < work->lanes.size()) queues_.push_back(std::make_unique<Queue>());
  const auto launch = std::make_shared<Issued>(this, work);
  set_current(launch);
  issue(launch, *work);
  Result<LaunchStats> result = launch->synchronise(watch);
  set_current(nullptr);
  left_behind_ = launch->describe_stuck().empty() ? nullptr : launch;
  return result;
}

void QueueDevice::issue(const std::shared_ptr<Issued>& launch, const Launch& work) {
  for (std::uint32_t step = 0; step < work.steps.size(); ++step) {
    const LaunchStep& issued = work.steps[step];
    const std::uint32_t lane = issued.lane;
    for (std::uint32_t i = 0; i < issued.wait_count; ++i) {
      const Wait wait = work.waits[issued.first_wait + i];
      queues_[lane]->enqueue([launch, lane, wait, step] { launch->await(lane, wait, step); });
    }
    queues_[lane]->enqueue([launch, lane, step] { launch->run(lane, step); });
  }
  for (std::uint32_t lane = 0; lane < work.lanes.size(); ++lane) {
    queues_[lane]->enqueue([launch, lane] { launch->drain(lane); });
  }
}

void QueueDevice::set_current(std::shared_ptr<Issued> launch) {
  const std::lock_guard lock(current_mutex_);
  current_ = std::move(launch);
}

bool QueueDevice::is_running_here() const { return inside_device == this; }

void QueueDevice::cancel() {
  const std::lock_guard lock(current_mutex_);
  if (current_ != nullptr) current_->cancel();
}

}  // namespace dynaflow::testing
