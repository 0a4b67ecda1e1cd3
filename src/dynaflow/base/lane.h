#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dynaflow {

/// How much of the device a lane asks for. Zero cores: the lane mostly waits (a network lane) and
/// may run wherever there is room. The default asks for an equal part of what is left.
struct Share {
  static constexpr int kEqualPart = -1;

  int cores = kEqualPart;

  friend bool operator==(const Share&, const Share&) = default;
};

/// An in-order queue that a schedule asked for, by name.
struct LaneRequest {
  std::string name;
  Share share;
};

/// What the device gave: the cores a lane's thread is pinned to (empty where the device has none).
struct LaneGrant {
  std::string name;
  Share requested;
  std::vector<int> cores;
};

/// "Start only when `lane` has completed `count` steps."
struct Wait {
  std::uint32_t lane = 0;
  std::uint32_t count = 0;

  friend bool operator==(const Wait&, const Wait&) = default;
};

}  // namespace dynaflow
