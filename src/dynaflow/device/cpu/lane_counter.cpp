#include "dynaflow/device/cpu/lane_counter.h"

#include "dynaflow/device/cpu/spin.h"

namespace dynaflow {

Arrival LaneCounter::await_slowly(std::uint32_t count, int pauses) {
  std::uint32_t word = 0;
  const bool spun = spin_until(pauses, [&] {
    word = word_.load(std::memory_order_acquire);
    return settled(word, count);
  });
  if (spun) return arrival(word, Arrival::kSpun);
  return arrival(sleep_until(count), Arrival::kSlept);
}

// The writer stops at every count that is awaited, so a waiter sleeps on its own count's bit:
// completions it does not wait for leave it asleep. If the word moves on before the kernel has it
// asleep, futex_wait returns at once.
std::uint32_t LaneCounter::sleep_until(std::uint32_t count) {
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  std::uint32_t word = word_.load(std::memory_order_seq_cst);
  while (!settled(word, count)) {
    futex_wait(word_, word, bit(count));
    word = word_.load(std::memory_order_acquire);
  }
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
  return word;
}

void LaneCounter::finish(std::uint32_t steps) {
  word_.fetch_add(steps, std::memory_order_seq_cst);
  wake(kEverySleeper);
}

void LaneCounter::abort() {
  word_.fetch_or(kAbort, std::memory_order_seq_cst);
  wake(kEverySleeper);
}

}  // namespace dynaflow
