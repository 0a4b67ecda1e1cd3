#include <pybind11/pybind11.h>
#include <torch/version.h>

#include "torch/bindings/errors.h"
#include "torch/bindings/microbatch.h"
#include "torch/bindings/model.h"
#include "torch/bindings/schedule.h"
#include "torch/bindings/strategies.h"
#include "torch/bindings/timeline.h"

PYBIND11_MODULE(_C, module) {
  module.doc() = "DynaFlow's C++ side; use the dynaflow package instead.";
  module.attr("torch_version") = TORCH_VERSION;
  dynaflow::bindings::add_errors(module);
  dynaflow::bindings::add_schedule(module);
  dynaflow::bindings::add_strategies(module);
  dynaflow::bindings::add_timeline(module);
  dynaflow::bindings::add_model(module);
  dynaflow::bindings::add_microbatch(module);
}
