#pragma once

#include <atomic>
#include <cstdint>

namespace dynaflow {

/// The kernel's wait on a 32-bit word, private to this process. A wake reaches only the sleepers
/// whose bits it shares, so several reasons to sleep can live on one word.
inline constexpr std::uint32_t kEverySleeper = ~std::uint32_t{0};

/// Sleeps while `word` holds `expected`. May return for no reason: the caller looks again.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::uint32_t bits = kEverySleeper);

void futex_wake(const std::atomic<std::uint32_t>& word, std::uint32_t bits = kEverySleeper);

}  // namespace dynaflow
