#pragma once

#include <cstdint>

namespace dynaflow {

/// What one run did.
struct Stats {
  std::uint64_t steps = 0;            ///< bodies called
  std::uint64_t waits = 0;            ///< waits evaluated
  std::uint64_t spins = 0;            ///< of those, not satisfied at once
  std::uint64_t sleeps = 0;           ///< of those, slept through in the kernel
  std::uint64_t unplaced_values = 0;  ///< values that bodies allocated themselves
  std::int64_t unplaced_bytes = 0;
  std::int64_t arena_bytes = 0;
  std::int64_t copied_bytes = 0;      ///< by bodies, as they say
  std::int64_t body_allocations = 0;  ///< by bodies, as they say
  std::int64_t python_calls = 0;      ///< by bodies, as they say
};

}  // namespace dynaflow
