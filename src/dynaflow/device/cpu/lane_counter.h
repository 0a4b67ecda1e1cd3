#pragma once

#include <atomic>
#include <cstdint>

#include "dynaflow/device/cpu/futex.h"

namespace dynaflow {

/// How a wait on a lane ended.
enum class Arrival {
  kAtOnce,   ///< was already satisfied
  kSpun,     ///< satisfied while looking again
  kSlept,    ///< satisfied after a sleep in the kernel
  kAborted,  ///< the launch has ended: start nothing more
};

/// How many steps a lane says it has completed, and the only thing that other lanes wait on. One
/// writer (the lane's thread), any number of waiters, no allocation. Whatever was written before
/// `complete` is seen by whoever saw the count reached. Every change may cost a cache miss here and
/// at each waiter, so a lane makes one only at a count that is awaited, and one when it ends.
class LaneCounter {
 public:
  /// Back to zero steps. Only while no other thread uses the counter.
  void reset() { word_.store(0, std::memory_order_relaxed); }

  /// So many steps more. Wakes who waits for the very count that is reached, and may leave asleep
  /// who waits for one that was skipped. Only the lane's own thread.
  void complete(std::uint32_t steps);

  /// The same for a lane's last steps: wakes everyone whose count was reached, now or before.
  void finish(std::uint32_t steps);

  /// Returns when `count` steps are complete or the counter is aborted; looks again `pauses` times
  /// before it sleeps.
  [[nodiscard]] Arrival await(std::uint32_t count, int pauses);

  /// Ends every wait, present and future, until `reset`. Any thread.
  void abort();

 private:
  static constexpr std::uint32_t kAbort = std::uint32_t{1} << 31;

  /// An aborted word is larger than any count, so one comparison answers both.
  static bool settled(std::uint32_t word, std::uint32_t count) { return word >= count; }
  static Arrival arrival(std::uint32_t word, Arrival otherwise) {
    return (word & kAbort) != 0 ? Arrival::kAborted : otherwise;
  }
  static std::uint32_t bit(std::uint32_t count) { return std::uint32_t{1} << (count % 32); }

  [[nodiscard]] Arrival await_slowly(std::uint32_t count, int pauses);
  [[nodiscard]] std::uint32_t sleep_until(std::uint32_t count);
  void wake(std::uint32_t bits);

  std::atomic<std::uint32_t> word_{0};      ///< completed steps; the top bit says aborted
  std::atomic<std::uint32_t> sleepers_{0};  ///< waiters in, or on their way into, the kernel
};

inline Arrival LaneCounter::await(std::uint32_t count, int pauses) {
  const std::uint32_t word = word_.load(std::memory_order_acquire);
  if (settled(word, count)) [[likely]]
    return arrival(word, Arrival::kAtOnce);
  return await_slowly(count, pauses);
}

// Dekker: the writer changes the word and then looks at the sleepers; a waiter announces itself as
// a sleeper and then looks at the word (once here, once more inside futex_wait). Both changes are
// seq_cst read-modify-writes and both looks are seq_cst, so they cannot both miss each other.
inline void LaneCounter::complete(std::uint32_t steps) {
  const std::uint32_t count = word_.fetch_add(steps, std::memory_order_seq_cst) + steps;
  wake(bit(count));
}

inline void LaneCounter::wake(std::uint32_t bits) {
  if (sleepers_.load(std::memory_order_seq_cst) != 0) [[unlikely]]
    futex_wake(word_, bits);
}

}  // namespace dynaflow
