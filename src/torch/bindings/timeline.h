#pragma once

#include <pybind11/pybind11.h>

namespace dynaflow::bindings {

/// Timelines, what explains them, and how they are saved.
void add_timeline(pybind11::module_& module);

}  // namespace dynaflow::bindings
