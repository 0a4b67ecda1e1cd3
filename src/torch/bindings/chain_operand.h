#pragma once

#include "torch/aten/aten_body.h"

namespace dynaflow::bindings {

/// What a chain of ops reads or writes: the tensor that one of its bodies sees.
struct ChainOperand {
  const aten::AtenBody* body = nullptr;
  capture::TensorId tensor;

  [[nodiscard]] const capture::Tensor& captured() const {
    return body->cut().capture().tensor(tensor);
  }
};

}  // namespace dynaflow::bindings
