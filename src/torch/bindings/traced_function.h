#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <span>
#include <string>

#include "dynaflow/graph/body.h"
#include "torch/bindings/chain_operand.h"

namespace dynaflow::bindings {

/// What became of a function that was to be traced.
struct Traced {
  std::shared_ptr<const Body> body = {};  ///< null: it must be called, and `reason` says why
  std::string reason = {};
  std::string wrong = {};    ///< what of its results does not fit, whatever it is called with
  std::string couples = {};  ///< a call of it that needs all rows of the batch, and why
};

/// Runs a Python function once, on tensors without elements, and makes a body of the calls it made.
[[nodiscard]] Traced trace(const pybind11::function& function, const std::string& name,
                           std::span<const ChainOperand> reads,
                           std::span<const ChainOperand> writes);

}  // namespace dynaflow::bindings
