#include "torch/bindings/microbatch.h"

#include <pybind11/stl.h>

#include "torch/aten/current_step.h"

namespace py = pybind11;

namespace dynaflow::bindings {

py::object RunContext::of(std::int64_t first, std::int64_t count) {
  if (hook_.is_none()) return py::none();
  if (const auto at = made_.find({first, count}); at != made_.end()) return at->second;
  // While the hook runs, another step of the same rows may ask too: the first answer counts.
  const py::object rows = py::module_::import("builtins").attr("range")(first, first + count);
  py::object made = hook_(batch_, rows);
  return made_.try_emplace({first, count}, std::move(made)).first->second;
}

void add_microbatch(py::module_& module) {
  module.def(
      "current_step",
      []() -> py::object {
        const KernelArgs* step = aten::CurrentStep::get();
        if (step == nullptr || step->context == nullptr) return py::none();
        // The run that owns it is waiting for this very step.
        auto* context = const_cast<RunContext*>(
            static_cast<const RunContext*>(static_cast<const aten::Caller*>(step->context)));
        return py::make_tuple(std::string(step->name), step->rows.first, step->rows.count,
                              context->of(step->rows.first, step->rows.count));
      },
      "(name, first row, rows, context) of the step that this thread is running, or None.");
}

}  // namespace dynaflow::bindings
