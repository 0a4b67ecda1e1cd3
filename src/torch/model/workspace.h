#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>

#include <cstdint>
#include <variant>
#include <vector>

#include "dynaflow/runtime/binding.h"
#include "dynaflow/schedule/batch.h"

namespace dynaflow::model {

/// What the framework passes in: a tensor, a size, or nothing we know of. The tensor is the
/// caller's own, alive while the model runs: a reference counted for us would take the
/// interpreter's lock.
using Argument = std::variant<std::monostate, const at::Tensor*, std::int64_t>;
/// What the framework gets back.
using Item = std::variant<std::monostate, at::Tensor, std::int64_t>;

/// What one run of a Model works on. Kept from run to run without its tensors, so that a steady run
/// asks for no memory but its results'.
struct Workspace {
  std::vector<Argument> arguments;    ///< the capture's inputs without its constants
  Batch batch;                        ///< that these arguments are
  std::vector<at::Tensor> dense;      ///< per bound input: its copy, if it has gaps
  std::vector<c10::Storage> results;  ///< that the run writes and the caller gets
  std::vector<Binding> bindings;
  std::vector<Item> returned;  ///< parallel to the capture's outputs

  void release_tensors() {
    arguments.clear();
    dense.clear();
    results.clear();
    returned.clear();
  }
};

}  // namespace dynaflow::model
