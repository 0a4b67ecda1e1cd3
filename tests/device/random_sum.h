#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "device/scripted_launch.h"

namespace dynaflow::testing {

inline std::vector<std::string> lane_names(std::uint32_t count) {
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < count; ++i) names.push_back("lane" + std::to_string(i));
  return names;
}

/// A random launch whose steps compute: each adds up what the steps before it wrote, in plain
/// memory that only the waits protect.
struct RandomSum {
  RandomSum(const Device& device, std::uint32_t lanes, std::uint32_t seed, std::uint32_t steps)
      : values(steps), work(std::make_shared<ScriptedLaunch>(device, lane_names(lanes))) {
    std::mt19937 random(seed);
    for (std::uint32_t step = 0; step < steps; ++step) {
      std::vector<std::uint32_t> after;
      for (std::uint32_t i = 0; step > 0 && i < random() % 4; ++i) after.push_back(random() % step);
      work->add({.lane = static_cast<std::uint32_t>(random() % lanes),
                 .after = after,
                 .body = [this, step, after] { values[step] = sum(step, after); }});
    }
  }
  [[nodiscard]] std::uint64_t sum(std::uint32_t step,
                                  const std::vector<std::uint32_t>& after) const {
    std::uint64_t total = step + 1;
    for (const std::uint32_t before : after) total = total * 31 + values[before];
    return total;
  }
  /// The same in one thread, in recorded order.
  [[nodiscard]] bool values_are_right() const {
    for (std::uint32_t step = 0; step < values.size(); ++step) {
      if (values[step] != sum(step, work->script(step).after)) return false;
    }
    return true;
  }

  std::vector<std::uint64_t> values;
  std::shared_ptr<ScriptedLaunch> work;
};

/// The first wait that did not hold, in words; empty when all held.
inline std::string broken_order(const ScriptedLaunch& work) {
  const auto ended_before = [&](std::uint32_t a, std::uint32_t b) {
    return work.record(a).ended.load() < work.record(b).started.load();
  };
  for (const std::vector<std::uint32_t>& lane : work.lane_steps) {
    for (std::size_t i = 1; i < lane.size(); ++i) {
      if (!ended_before(lane[i - 1], lane[i])) return work.describe(lane[i]) + " overtook its lane";
    }
  }
  for (std::uint32_t step = 0; step < work.size(); ++step) {
    for (const std::uint32_t before : work.script(step).after) {
      if (!ended_before(before, step)) return work.describe(step) + " did not wait";
    }
  }
  return "";
}

inline std::vector<int> all_runs(const ScriptedLaunch& work) {
  std::vector<int> runs;
  for (std::uint32_t step = 0; step < work.size(); ++step) runs.push_back(work.runs(step));
  return runs;
}

}  // namespace dynaflow::testing
