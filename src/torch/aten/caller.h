#pragma once

#include <ATen/ThreadLocalState.h>

#include <optional>

namespace dynaflow::collective {
class RunAgreement;
}  // namespace dynaflow::collective

namespace dynaflow::aten {

/// What steps on other threads need of the run's caller: its profiler, and what it agrees upon
/// with other ranks. In runs of a Model, RunOptions::context is one of these or null.
class Caller {
 public:
  Caller();

  /// Null where the model has no collectives.
  collective::RunAgreement* agreement = nullptr;

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
