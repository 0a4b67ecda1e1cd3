#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dynaflow/placement/placement.h"
#include "support/memory_image.h"

namespace dynaflow::testing {

/// A plan with its placement, to be judged as it stands, whatever was done to it.
struct Subject {
  const RandomGraph& random;
  const Plan& plan;
  const Buffers& buffers;
  const Placement& placement;
};

enum class Verdict : std::uint8_t { kHarmless, kDeadlock, kUnordered, kOutOfBounds, kWrongResult };

[[nodiscard]] std::string to_string(Verdict verdict);

struct Judgement {
  Verdict verdict = Verdict::kHarmless;
  std::uint64_t orders = 0;  ///< linear extensions executed
};

/// Decides by brute force: runs every order of the steps that the plan allows, and compares every
/// byte that two unordered steps touch. Knows nothing of clocks, rules or buffers' lifetimes.
[[nodiscard]] Judgement judge(const Subject& subject, std::int64_t rows, std::uint64_t seed,
                              const Outcome& expected);

}  // namespace dynaflow::testing
