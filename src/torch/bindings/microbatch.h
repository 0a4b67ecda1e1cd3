#pragma once

#include <pybind11/pybind11.h>

#include <map>
#include <utility>

#include "dynaflow/schedule/batch.h"
#include "torch/aten/caller.h"

namespace dynaflow::bindings {

/// What differs per micro-batch in one run: made by the strategy's `context` hook when a body first
/// asks, once per range of rows. Everything here is guarded by the GIL.
class RunContext : public aten::Caller {
 public:
  /// `batch` must outlive it.
  RunContext(const Batch& batch, pybind11::object hook) : batch_(batch), hook_(std::move(hook)) {}

  /// The hook's answer for rows [first, first + count); None without a hook.
  [[nodiscard]] pybind11::object of(std::int64_t first, std::int64_t count);

 private:
  const Batch& batch_;
  pybind11::object hook_;
  std::map<std::pair<std::int64_t, std::int64_t>, pybind11::object> made_;
};

/// dynaflow.microbatch(): the rows of the step that is running, and its context.
void add_microbatch(pybind11::module_& module);

}  // namespace dynaflow::bindings
