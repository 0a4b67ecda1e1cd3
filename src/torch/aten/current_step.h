#pragma once

#include "dynaflow/graph/kernel.h"

namespace dynaflow::aten {

/// Which step this thread is running, for operators that need to know their rows: a kernel's
/// signature has no room for it. Each lane has its own; there is none outside of a step.
class CurrentStep {
 public:
  explicit CurrentStep(const KernelArgs& args);
  ~CurrentStep();
  CurrentStep(const CurrentStep&) = delete;
  CurrentStep& operator=(const CurrentStep&) = delete;

  /// Null outside of a step.
  [[nodiscard]] static const KernelArgs* get();

 private:
  const KernelArgs* before_;
};

}  // namespace dynaflow::aten
