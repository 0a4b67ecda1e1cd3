#pragma once

#include <sched.h>

namespace dynaflow {

/// How often a waiting thread looks again before it sleeps in the kernel. 2,000 pauses are 25 to
/// 100 µs on current cores: longer than the hand-offs of a busy pipeline, where a sleep and its
/// wake (5 to 50 µs) would be the larger part, and short enough not to heat a core for nothing.
inline constexpr int kSpinPauses = 2'000;

/// The same with more lanes than cores: the lane waited for may need this very core.
inline constexpr int kCrowdedSpinPauses = 20;

/// The scheduler may have put the thread waited for on this very core; a yield now and then lets
/// it run. Costs about 0.3 µs when there is nobody to yield to.
inline constexpr int kPausesPerYield = 200;

inline void pause_core() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");  // about as long as an x86 pause; yield is a no-op there
#endif
}

/// Looks at `done` up to `pauses` more times; its last answer.
template <class Done>
[[nodiscard]] bool spin_until(int pauses, Done done) {
  for (int i = 1; i <= pauses; ++i) {
    if (done()) return true;
    pause_core();
    if (i % kPausesPerYield == 0) sched_yield();
  }
  return done();
}

}  // namespace dynaflow
