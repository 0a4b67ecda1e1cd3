#pragma once

#include <pybind11/pybind11.h>

namespace dynaflow::bindings {

/// The built-in schedulers, and the costs that one of them decides by. After `add_schedule`.
void add_strategies(pybind11::module_& module);

}  // namespace dynaflow::bindings
