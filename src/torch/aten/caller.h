#pragma once

#include <ATen/ThreadLocalState.h>

#include <optional>

namespace dynaflow::aten {

/// What the caller of a run has on its own thread that steps on other threads need: its profiler.
/// In runs of a Model, RunOptions::context is one of these or null.
class Caller {
 public:
  Caller();

 private:
  friend class CallersProfiler;
  std::optional<at::ThreadLocalState> profiled_;  ///< empty without a profiler
};

/// While it lives, this thread records for the profiler of the run's caller, if there is one.
class CallersProfiler {
 public:
  explicit CallersProfiler(const void* context);

 private:
  std::optional<at::ThreadLocalStateGuard> guard_;
};

}  // namespace dynaflow::aten
