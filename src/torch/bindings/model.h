#pragma once

#include <pybind11/pybind11.h>

namespace dynaflow::bindings {

/// Captures, rules and models.
void add_model(pybind11::module_& module);

}  // namespace dynaflow::bindings
