#pragma once

namespace dynaflow {

/// Ends the process: a broken invariant is our own bug, never a caller's mistake.
[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace dynaflow

/// Always on, in every build type.
#define DYNAFLOW_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::dynaflow::check_failed(#condition, __FILE__, __LINE__))
