#include "torch/aten/caller.h"

#include <ATen/record_function.h>

namespace dynaflow::aten {

Caller::Caller() {
  if (at::hasThreadLocalCallbacks()) profiled_.emplace();
}

CallersProfiler::CallersProfiler(const void* context) {
  const auto* caller = static_cast<const Caller*>(context);
  if (caller == nullptr || !caller->profiled_) return;
  if (!at::hasThreadLocalCallbacks()) guard_.emplace(*caller->profiled_);
}

}  // namespace dynaflow::aten
