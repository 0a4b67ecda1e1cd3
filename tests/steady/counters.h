#pragma once

#include <cstdint>

namespace dynaflow::testing {

/// What this process has allocated and copied since `start_counting`, on any thread: every
/// operator new and malloc, and the bytes of every memcpy and memmove that is a call.
struct Counts {
  std::int64_t allocations = 0;
  std::int64_t copied_bytes = 0;
};

void start_counting();
Counts stop_counting();

/// A sanitizer owns malloc and memcpy; then only operator new is counted.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kCountsCalls = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kCountsCalls = false;
#define DYNAFLOW_SANITIZED 1
#else
inline constexpr bool kCountsCalls = true;
#endif
#else
inline constexpr bool kCountsCalls = true;
#endif

}  // namespace dynaflow::testing
