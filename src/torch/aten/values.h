#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <functional>
#include <span>

#include "import/capture/capture.h"

namespace dynaflow::aten {

/// What an argument stands for at one call site.
struct Scope {
  std::span<const std::int64_t> symbols;
  std::function<at::Tensor(capture::TensorId)> tensor;
};

/// An argument as the dispatcher takes it, for a parameter of this type. Throws
/// std::invalid_argument where the two do not fit.
[[nodiscard]] c10::IValue to_ivalue(const capture::Argument& argument, const c10::TypePtr& type,
                                    const Scope& scope);

[[nodiscard]] c10::ScalarType to_scalar_type(DType dtype);
[[nodiscard]] DType to_dtype(c10::ScalarType type);

[[nodiscard]] std::vector<std::int64_t> evaluate(const std::vector<Extent>& extents,
                                                 std::span<const std::int64_t> symbols);

}  // namespace dynaflow::aten
