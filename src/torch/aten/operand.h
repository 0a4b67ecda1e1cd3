#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>

#include <span>
#include <vector>

#include "dynaflow/graph/kernel.h"

namespace dynaflow::aten {

/// Memory without an owner, to be pointed at an operand's bytes in each run; tensors that view it
/// follow. Not resizable.
[[nodiscard]] c10::Storage make_storage(std::int64_t bytes);

void point(const c10::Storage& storage, std::byte* data);

/// From the first byte that a view shows to the last.
[[nodiscard]] std::int64_t extent_of(const View& view);

[[nodiscard]] at::Tensor make_tensor(const c10::Storage& storage, DType dtype,
                                     const std::vector<std::int64_t>& sizes,
                                     const std::vector<std::int64_t>& strides,
                                     std::int64_t offset_bytes);

/// A kernel's message without the C++ backtrace that PyTorch puts behind it.
[[nodiscard]] std::string message_of(const std::exception& failure);

}  // namespace dynaflow::aten
