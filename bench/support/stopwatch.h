#pragma once

#include <chrono>

namespace dynaflow::bench {

/// How long `work` takes, in seconds.
template <class Work>
[[nodiscard]] double seconds_of(const Work& work) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace dynaflow::bench
