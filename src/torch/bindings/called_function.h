#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <vector>

#include "dynaflow/graph/body.h"
#include "torch/bindings/chain_operand.h"

namespace dynaflow::bindings {

/// A body that calls a Python function with the GIL, and counts it.
[[nodiscard]] std::shared_ptr<const Body> make_called(const pybind11::function& function,
                                                      std::vector<ChainOperand> operands);

}  // namespace dynaflow::bindings
