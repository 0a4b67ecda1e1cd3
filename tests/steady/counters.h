#pragma once

#include <cstdint>

// A sanitizer owns malloc and memcpy.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DYNAFLOW_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DYNAFLOW_SANITIZED 1
#endif
#endif

namespace dynaflow::testing {

/// What this process allocated and copied between `start_counting` and `stop_counting`, on any
/// thread: every operator new and malloc, and the bytes of every memcpy and memmove that is a call.
/// Under a sanitizer, operator new alone.
struct Counts {
  std::int64_t allocations = 0;
  std::int64_t copied_bytes = 0;
};

void start_counting();
Counts stop_counting();

}  // namespace dynaflow::testing
