#pragma once

#include <sched.h>

#include <chrono>

namespace dynaflow {

/// How long a waiting thread looks again before it sleeps in the kernel: about as long as a sleep
/// costs, which is 10 to 25 µs of whoever wakes it, and 30 to 60 µs more until it runs.
inline constexpr std::chrono::microseconds kSpin{100};

/// How many pauses take as long as that; one takes 10 to 60 ns, and is measured here once.
[[nodiscard]] int spin_pauses();

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
