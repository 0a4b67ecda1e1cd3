#include "dynaflow/device/cpu/spin.h"

#include <algorithm>

namespace dynaflow {
namespace {

using Clock = std::chrono::steady_clock;

/// The shortest of a few trials: in the others the thread was interrupted.
int measure_spin_pauses() {
  constexpr int kTrials = 8;
  constexpr int kPauses = 100;
  Clock::duration shortest = kSpin;
  for (int trial = 0; trial < kTrials; ++trial) {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < kPauses; ++i) pause_core();
    shortest = std::min(shortest, Clock::now() - start);
  }
  const auto each = std::max(shortest, Clock::duration(1));
  return static_cast<int>(
      std::clamp<Clock::rep>(kPauses * Clock::duration(kSpin) / each, 500, 50'000));
}

}  // namespace

int spin_pauses() {
  static const int kMeasured = measure_spin_pauses();
  return kMeasured;
}

}  // namespace dynaflow
