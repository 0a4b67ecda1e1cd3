#pragma once

#include <pybind11/pybind11.h>

#include <vector>

#include "dynaflow/schedule/schedule_context.h"

namespace dynaflow::bindings {

/// A Python function in place of these ops: called with the tensors that the chain reads, it
/// returns those that it writes. Runs with the GIL, and is counted.
[[nodiscard]] Replacement make_replacement(const Graph& graph, const std::vector<ReadyOp>& ops,
                                           const pybind11::function& function);

}  // namespace dynaflow::bindings
