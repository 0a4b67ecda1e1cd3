#pragma once

#include <pybind11/pybind11.h>

namespace dynaflow::bindings {

/// Batch, Split, ScheduleContext and the strategies: the same names as in C++.
void add_schedule(pybind11::module_& module);

}  // namespace dynaflow::bindings
