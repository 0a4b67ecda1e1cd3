#include "torch/bindings/model.h"

#include <pybind11/stl.h>
#include <torch/csrc/autograd/python_variable.h>

#include "import/capture/json.h"
#include "torch/bindings/errors.h"
#include "torch/model/model.h"

namespace py = pybind11;

namespace dynaflow::bindings {
namespace {

using model::Item;
using model::Model;

Item to_item(PyObject* object) {
  if (THPVariable_Check(object)) return THPVariable_Unpack(object);
  if (PyLong_Check(object)) return static_cast<std::int64_t>(PyLong_AsLongLong(object));
  return std::monostate{};
}

py::object to_python(Item&& item) {
  if (auto* tensor = std::get_if<at::Tensor>(&item)) {
    return py::reinterpret_steal<py::object>(THPVariable_Wrap(std::move(*tensor)));
  }
  if (const auto* number = std::get_if<std::int64_t>(&item)) return py::int_(*number);
  return py::none();
}

std::vector<Item> to_items(const py::list& arguments) {
  std::vector<Item> items;
  items.reserve(arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    items.push_back(to_item(PyList_GET_ITEM(arguments.ptr(), static_cast<Py_ssize_t>(i))));
  }
  return items;
}

py::list run(Model& model, const py::list& arguments) {
  const std::vector<Item> items = to_items(arguments);
  auto outputs = [&] {
    const py::gil_scoped_release no_gil;
    return model.run(items);
  }();
  py::list returned;
  for (Item& item : unwrap(std::move(outputs))) returned.append(to_python(std::move(item)));
  return returned;
}

cut::Rule to_rule(const std::string& selects, std::vector<std::string> patterns,
                  std::vector<std::string> tags) {
  const auto what = selects == "module"     ? cut::Rule::Selects::kModule
                    : selects == "function" ? cut::Rule::Selects::kFunction
                                            : cut::Rule::Selects::kMark;
  return {what, std::move(patterns), std::move(tags)};
}

py::dict to_dict(const Stats& stats) {
  py::dict dict;
  dict["steps"] = stats.steps;
  dict["waits"] = stats.waits;
  dict["arena_bytes"] = stats.arena_bytes;
  dict["copied_bytes"] = stats.copied_bytes;
  dict["body_allocations"] = stats.body_allocations;
  dict["python_calls"] = stats.python_calls;
  return dict;
}

}  // namespace

void add_model(py::module_& module) {
  py::class_<cut::Rule>(module, "Rule")
      .def(py::init(&to_rule), py::arg("selects"), py::arg("patterns"), py::arg("tags"));
  py::class_<Model, std::shared_ptr<Model>>(module, "Model")
      .def(py::init([](const std::string& document, const std::vector<cut::Rule>& rules,
                       std::shared_ptr<const OpScheduler> scheduler,
                       std::vector<at::Tensor> constants) {
             return unwrap(Model::make(unwrap(capture::from_json(document)), rules,
                                       std::move(scheduler), std::move(constants)));
           }),
           py::arg("document"), py::arg("rules"), py::arg("scheduler"), py::arg("constants"))
      .def("run", &run, py::arg("arguments"))
      .def("microbatches",
           [](Model& model, const py::list& arguments) {
             const std::vector<Item> items = to_items(arguments);
             const py::gil_scoped_release no_gil;
             return unwrap(model.program(model.batch_of(items)))->plan().microbatches();
           })
      .def("plan",
           [](Model& model, const py::list& arguments) {
             const std::vector<Item> items = to_items(arguments);
             const py::gil_scoped_release no_gil;
             const auto program = unwrap(model.program(model.batch_of(items)));
             return to_string(program->plan(), model.graph());
           })
      .def_property_readonly("warnings", [](const Model& model) { return model.cut().warnings; })
      .def_property_readonly("stats",
                             [](const Model& model) { return to_dict(model.last_stats()); })
      .def_property_readonly("rows", [](const Model& model) { return to_string(model.cut().rows); })
      .def_property_readonly("cut", [](const Model& model) { return to_string(model.cut()); })
      .def_property_readonly("graph", [](const Model& model) { return to_string(model.graph()); });
}

}  // namespace dynaflow::bindings
