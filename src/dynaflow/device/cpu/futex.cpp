#include "dynaflow/device/cpu/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace dynaflow {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::uint32_t bits) {
  syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, expected, nullptr, nullptr, bits);
}

void futex_wake(const std::atomic<std::uint32_t>& word, std::uint32_t bits) {
  syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, INT_MAX, nullptr, nullptr, bits);
}

}  // namespace dynaflow
