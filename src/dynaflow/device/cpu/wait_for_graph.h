#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>

#include "dynaflow/device/device.h"

namespace dynaflow {

enum class LaneState : std::uint32_t {
  kQuiet,         ///< runs nothing of the launch, or nothing any more
  kBetweenSteps,  ///< waits, or is about to start a step
  kInsideStep,    ///< its body has not returned
};

/// One lane as the watchdog saw it.
struct LaneSighting {
  LaneState state = LaneState::kQuiet;
  std::uint32_t completed = 0;                      ///< steps of this lane
  std::chrono::steady_clock::duration still_for{};  ///< how long without completing a step
};

/// Who waits for whom, one line per lane:
///
///     lane compute: waits for lane network to complete 3 steps (has 2), before attn on microbatch
///     1 lane network: inside all_reduce on microbatch 0 for 2.0 s
[[nodiscard]] std::string wait_for_graph(const Launch& work, std::span<const LaneSighting> lanes);

/// "2.0 s"
[[nodiscard]] std::string seconds(std::chrono::steady_clock::duration time);

}  // namespace dynaflow
