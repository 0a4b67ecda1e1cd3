#include "dynaflow/device/cpu/running_lanes.h"

#include "dynaflow/device/cpu/futex.h"
#include "dynaflow/device/cpu/spin.h"

namespace dynaflow {

void RunningLanes::leave() {
  const std::uint32_t before = word_.fetch_sub(1, std::memory_order_acq_rel);
  if ((before & kCount) == 1 && (before & kAsleep) != 0) futex_wake(word_);
}

RunningLanes::Ending RunningLanes::await_quiet(int pauses) {
  std::uint32_t word = 0;
  const bool spun = spin_until(pauses, [&] {
    word = word_.load(std::memory_order_acquire);
    return over(word);
  });
  if (!spun) word = sleep_until_over();
  return (word & kCount) == 0 ? Ending::kQuiet : Ending::kGivenUp;
}

std::uint32_t RunningLanes::sleep_until_over() {
  std::uint32_t word = word_.fetch_or(kAsleep, std::memory_order_acq_rel) | kAsleep;
  while (!over(word)) {
    futex_wait(word_, word);
    word = word_.load(std::memory_order_acquire);
  }
  return word;
}

void RunningLanes::give_up() {
  word_.fetch_or(kGivenUp, std::memory_order_acq_rel);
  futex_wake(word_);
}

}  // namespace dynaflow
