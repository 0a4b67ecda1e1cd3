#include "dynaflow/device/cpu/step_scope.h"

namespace dynaflow {
namespace {

thread_local const StepScope* innermost = nullptr;

}  // namespace

StepScope::StepScope(const ActiveLaunch& launch, const Launch& work,
                     std::optional<std::uint32_t> lane)
    : launch_(launch), work_(work), lane_(lane), outer_(innermost) {
  innermost = this;
}

StepScope::~StepScope() { innermost = outer_; }

const StepScope* StepScope::find(const ActiveLaunch& launch) {
  const StepScope* scope = innermost;
  while (scope != nullptr && &scope->launch_ != &launch) scope = scope->outer_;
  return scope;
}

}  // namespace dynaflow
