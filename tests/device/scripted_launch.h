#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dynaflow/device/device.h"

namespace dynaflow::testing {

/// One step of a scripted launch. `after` names earlier steps that must be complete.
struct ScriptedStep {
  std::uint32_t lane = 0;
  std::vector<std::uint32_t> after = {};
  std::string name = "";
  std::function<void()> body = [] {};
};

/// What one step did, in ticks of the launch's own clock. The clock orders steps for the test and
/// nothing else: its ticks are relaxed, so they hide no missing wait from the thread sanitizer.
struct StepRecord {
  std::atomic<int> runs{0};
  std::atomic<std::uint64_t> started{0};
  std::atomic<std::uint64_t> ended{0};
};

/// A launch written down step by step, which records what ran when.
class ScriptedLaunch final : public Launch {
 public:
  ScriptedLaunch(const Device& device, const std::vector<std::string>& lane_names) {
    std::vector<LaneRequest> requests;
    for (const std::string& name : lane_names) requests.push_back({name, {}});
    lanes = device.grant(requests);
    lane_steps.resize(lanes.size());
  }

  std::uint32_t add(ScriptedStep step) {
    const auto index = static_cast<std::uint32_t>(steps.size());
    steps.push_back({step.lane, static_cast<std::uint32_t>(waits.size()),
                     static_cast<std::uint32_t>(step.after.size())});
    for (const std::uint32_t before : step.after) waits.push_back(completion_of(before));
    lane_steps[step.lane].push_back(index);
    positions_.push_back(static_cast<std::uint32_t>(lane_steps[step.lane].size()));
    if (step.name.empty()) step.name = "op" + std::to_string(index) + " on microbatch 0";
    script_.push_back(std::move(step));
    records_.emplace_back();
    return index;
  }

  void run_step(std::uint32_t step) override {
    StepRecord& record = records_[step];
    record.runs.fetch_add(1, std::memory_order_relaxed);
    record.started.store(tick(), std::memory_order_relaxed);
    script_[step].body();
    record.ended.store(tick(), std::memory_order_relaxed);
  }

  [[nodiscard]] std::string describe(std::uint32_t step) const override {
    return script_[step].name;
  }

  [[nodiscard]] const StepRecord& record(std::uint32_t step) const { return records_[step]; }
  [[nodiscard]] const ScriptedStep& script(std::uint32_t step) const { return script_[step]; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(steps.size()); }
  [[nodiscard]] int runs(std::uint32_t step) const { return records_[step].runs.load(); }
  [[nodiscard]] Wait completion_of(std::uint32_t step) const {
    return {steps[step].lane, positions_[step]};
  }

 private:
  std::uint64_t tick() { return clock_.fetch_add(1, std::memory_order_relaxed) + 1; }

  std::vector<ScriptedStep> script_;
  std::vector<std::uint32_t> positions_;  ///< per step, its lane's count once it is complete
  std::deque<StepRecord> records_;
  std::atomic<std::uint64_t> clock_{0};
};

/// A stalling launch shall end soon; one that only is slow on a busy machine shall not stall.
inline WatchOptions watch_for(std::chrono::milliseconds stall_after) { return {stall_after, {}}; }
inline WatchOptions unwatched() { return watch_for(std::chrono::milliseconds(0)); }

}  // namespace dynaflow::testing
