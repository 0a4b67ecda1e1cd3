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

/// What this process allocated, gave back and copied between `start_counting` and `stop_counting`,
/// on any thread: every malloc and free, those of operator new and delete included, and the bytes
/// of every memcpy and memmove that is a call. Under a sanitizer copies are not counted.
struct Counts {
  std::int64_t allocations = 0;
  std::int64_t frees = 0;
  std::int64_t copied_bytes = 0;
};

void start_counting();
Counts stop_counting();

}  // namespace dynaflow::testing
