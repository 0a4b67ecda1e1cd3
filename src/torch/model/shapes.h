#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>

#include <cstdint>
#include <span>
#include <vector>

#include "import/capture/capture.h"
#include "import/cut/views.h"

namespace dynaflow::model {

/// What the sizes of a batch decide of a model's arguments and results: made once for each sizes.
struct Shapes {
  std::vector<std::vector<std::int64_t>> strides;  ///< per bound input
  std::vector<at::Tensor> results;                 ///< per memory of results: its form
  std::vector<at::Tensor>
      outputs;  ///< per output: its form in its memory; undefined if it has none
};

/// A tensor without memory: only what it would look like.
[[nodiscard]] at::Tensor make_form(DType dtype, const std::vector<std::int64_t>& sizes,
                                   const std::vector<std::int64_t>& strides);

/// A tensor of this form in that memory.
[[nodiscard]] at::Tensor in_memory(const at::Tensor& form, const c10::Storage& memory);

/// `base` as these view calls show it.
[[nodiscard]] at::Tensor view_through(const capture::Capture& capture, at::Tensor base,
                                      const std::vector<cut::Views::Link>& chain,
                                      std::span<const std::int64_t> symbols);

}  // namespace dynaflow::model
