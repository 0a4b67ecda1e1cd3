#include "dynaflow/device/cpu/wait_for_graph.h"

#include <array>
#include <cstdio>

namespace dynaflow {
namespace {

std::string lane_name(const Launch& work, std::uint32_t lane) {
  return "lane " + work.lanes[lane].name;
}

std::string steps(std::uint32_t count) {
  return std::to_string(count) + (count == 1 ? " step" : " steps");
}

std::string describe_ending(const Launch& work, std::uint32_t lane, std::uint32_t completed) {
  const std::size_t total = work.lane_steps[lane].size();
  if (completed == total) return "finished";
  return "stopped after " + std::to_string(completed) + " of " + std::to_string(total) + " steps";
}

const Wait* first_open_wait(const Launch& work, const LaunchStep& step,
                            std::span<const LaneSighting> lanes) {
  for (std::uint32_t i = 0; i < step.wait_count; ++i) {
    const Wait& wait = work.waits[step.first_wait + i];
    if (lanes[wait.lane].completed < wait.count) return &wait;
  }
  return nullptr;
}

std::string describe_pause(const Launch& work, std::uint32_t step,
                           std::span<const LaneSighting> lanes) {
  const Wait* wait = first_open_wait(work, work.steps[step], lanes);
  if (wait == nullptr) return "about to start " + work.describe(step);
  return "waits for " + lane_name(work, wait->lane) + " to complete " + steps(wait->count) +
         " (has " + std::to_string(lanes[wait->lane].completed) + "), before " +
         work.describe(step);
}

std::string describe_lane(const Launch& work, std::uint32_t lane,
                          std::span<const LaneSighting> lanes) {
  const LaneSighting& seen = lanes[lane];
  const std::vector<std::uint32_t>& own = work.lane_steps[lane];
  if (seen.state == LaneState::kQuiet || seen.completed >= own.size()) {
    return describe_ending(work, lane, seen.completed);
  }
  const std::uint32_t step = own[seen.completed];
  if (seen.state == LaneState::kBetweenSteps) return describe_pause(work, step, lanes);
  return "inside " + work.describe(step) + " for " + seconds(seen.still_for);
}

}  // namespace

std::string wait_for_graph(const Launch& work, std::span<const LaneSighting> lanes) {
  std::string text;
  for (std::uint32_t lane = 0; lane < lanes.size(); ++lane) {
    if (lane > 0) text += '\n';
    text += lane_name(work, lane) + ": " + describe_lane(work, lane, lanes);
  }
  return text;
}

std::string seconds(std::chrono::steady_clock::duration time) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f s", std::chrono::duration<double>(time).count());
  return text.data();
}

}  // namespace dynaflow
