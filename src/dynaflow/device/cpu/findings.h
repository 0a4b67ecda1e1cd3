#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "dynaflow/base/error.h"
#include "dynaflow/device/cpu/wait_for_graph.h"
#include "dynaflow/device/device.h"

namespace dynaflow {

/// What a CPU device says when a launch does not end well.

/// R1, or the rule that a Failure names: the step after `completed` ones of `lane` threw.
[[nodiscard]] Diagnostic body_failed(const Launch& work, std::uint32_t lane,
                                     std::uint32_t completed, const std::exception& failure);

/// R2: the message holds the wait-for graph.
[[nodiscard]] Diagnostic stalled(const Launch& work, std::chrono::milliseconds stall_after,
                                 std::span<const LaneSighting> lanes);

/// R3, after so many steps of all lanes.
[[nodiscard]] Diagnostic cancelled(const Launch& work, std::uint32_t completed);

/// R4: `where` is the place the launch was called from.
[[nodiscard]] Diagnostic reentered(std::string where);

/// R5: `steps` says which lanes are inside which steps.
[[nodiscard]] Diagnostic lane_lost(const std::string& steps);

/// R5 as well: a lane whose thread the system did not give us.
[[nodiscard]] Diagnostic thread_refused(std::string_view why);

/// "lane network, step 3 of 8": the step after `completed` ones.
[[nodiscard]] std::string place_of(const Launch& work, std::uint32_t lane, std::uint32_t completed);

}  // namespace dynaflow
