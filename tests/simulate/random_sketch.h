#pragma once

#include <random>

#include "simulate/sketch.h"

namespace dynaflow {

/// Up to 40 steps on up to 4 lanes, each with up to three waits for earlier ones.
inline Sketch random_sketch(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t bound) {
    return static_cast<std::uint32_t>(random() % bound);
  };
  const std::uint32_t lanes = 1 + below(4);
  Sketch sketch{{}, {below(9), 1 + below(9)}};
  sketch.costs.step_ns = below(20);
  sketch.costs.handoff_ns = below(2) == 0 ? 0 : below(300);
  for (std::uint32_t i = 0, count = below(41); i < count; ++i) {
    Job job{.lane = below(lanes), .fixed_ns = below(1000), .row_ns = below(50)};
    job.cost = static_cast<CostClass>(below(3));
    job.microbatches = below(3) == 0 ? MicrobatchRange{0, 2} : MicrobatchRange::of({below(2)});
    for (std::uint32_t waits = i == 0 ? 0 : below(4); waits > 0; --waits) {
      job.after.push_back(below(i));
    }
    sketch.jobs.push_back(job);
  }
  return sketch;
}

inline Sketch with_random_slowdowns(Sketch sketch, std::uint32_t seed) {
  std::mt19937 random(seed);
  for (auto& row : sketch.costs.slowdown) {
    for (double& factor : row) factor = 1 + static_cast<double>(random() % 200) / 100;
  }
  return sketch;
}

}  // namespace dynaflow
