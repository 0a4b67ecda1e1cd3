#include "torch/bindings/errors.h"

#include <pybind11/stl.h>

#include <string>
#include <utility>

namespace py = pybind11;

namespace dynaflow::bindings {

std::string described(const py::error_already_set& failure) {
  std::string text = py::str(failure.type().attr("__name__"));
  text += ": " + std::string(py::str(failure.value()));
  std::string places;
  for (py::object trace = failure.trace(); trace && !trace.is_none();
       trace = trace.attr("tb_next")) {
    const py::object code = trace.attr("tb_frame").attr("f_code");
    places.insert(0, "\n  at " + std::string(py::str(code.attr("co_filename"))) + ":" +
                         std::string(py::str(trace.attr("tb_lineno"))) + ", " +
                         std::string(py::str(code.attr("co_qualname"))));
  }
  return text + places;
}

namespace {

thread_local PyObject* interrupt = nullptr;  // owned

py::object take_interrupt() {
  return py::reinterpret_steal<py::object>(std::exchange(interrupt, nullptr));
}

}  // namespace

std::string described_or_kept(const py::error_already_set& failure) {
  static_cast<void>(take_interrupt());
  if (!failure.matches(PyExc_Exception)) interrupt = failure.value().inc_ref().ptr();
  return described(failure);
}

void add_errors(py::module_& module) {
  py::class_<Diagnostic>(module, "Finding", "One reason for a refusal.")
      .def_property_readonly(
          "rule", [](const Diagnostic& d) { return std::string(d.rule.id); },
          "The rule's stable id, such as \"S3\"; docs/rules.md explains each.")
      .def_property_readonly(
          "name", [](const Diagnostic& d) { return std::string(d.rule.name); },
          "The rule's name, such as \"run-twice\".")
      .def_readonly("message", &Diagnostic::message, "What happened.")
      .def_readonly("where", &Diagnostic::where, "Where.")
      .def_readonly("fix", &Diagnostic::fix, "What to do about it.")
      .def("__repr__", [](const Diagnostic& d) { return to_string(d); });

  PYBIND11_CONSTINIT static py::gil_safe_call_once_and_store<py::object> error_type;
  error_type.call_once_and_store_result(
      [&]() -> py::object { return py::exception<Refused>(module, "Error", PyExc_RuntimeError); });
  error_type.get_stored().attr("__doc__") =
      "Why something was refused or failed. ``findings`` has every reason, each with the rule's "
      "id, "
      "the place and the fix.";
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(std::move(thrown));
    } catch (const Refused& refused) {
      // An operator that failed in Python may have left its exception in this thread.
      py::object cause = py::none();
      if (PyErr_Occurred() != nullptr) cause = py::error_already_set().value();
      if (const py::object end = take_interrupt()) {
        PyErr_SetObject(py::type::handle_of(end).ptr(), end.ptr());
        return;
      }
      const py::object& type = error_type.get_stored();
      py::object error = type(refused.text);
      error.attr("findings") = refused.error.findings;
      error.attr("__cause__") = cause;
      PyErr_SetObject(type.ptr(), error.ptr());
    }
  });
}

}  // namespace dynaflow::bindings
