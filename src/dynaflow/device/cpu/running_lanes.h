#pragma once

#include <atomic>
#include <cstdint>

namespace dynaflow {

/// How many lanes of the launch in progress still run on threads of their own. The caller waits
/// here until they are quiet, or until the watchdog gives up on one that is stuck. All of it is
/// one word, so nothing can slip between a look and a sleep.
class alignas(64) RunningLanes {
 public:
  enum class Ending { kQuiet, kGivenUp };

  /// Before the lanes are woken, while none runs.
  void start(std::uint32_t lanes) { word_.store(lanes, std::memory_order_relaxed); }

  /// A lane's last touch of the launch; what it did is seen by whoever sees the lanes quiet.
  void leave();

  [[nodiscard]] Ending await_quiet(int pauses);

  /// Ends `await_quiet` although lanes are still running.
  void give_up();

  [[nodiscard]] std::uint32_t count() const {
    return word_.load(std::memory_order_acquire) & kCount;
  }

 private:
  static constexpr std::uint32_t kAsleep = std::uint32_t{1} << 31;  ///< the caller sleeps
  static constexpr std::uint32_t kGivenUp = std::uint32_t{1} << 30;
  static constexpr std::uint32_t kCount = kGivenUp - 1;

  static bool over(std::uint32_t word) { return (word & kCount) == 0 || (word & kGivenUp) != 0; }
  [[nodiscard]] std::uint32_t sleep_until_over();

  std::atomic<std::uint32_t> word_{0};
};

}  // namespace dynaflow
