#include "torch/bindings/model.h"

#include <pybind11/stl.h>
#include <torch/csrc/autograd/python_variable.h>

#include <algorithm>

#include "import/capture/json.h"
#include "torch/bindings/errors.h"
#include "torch/bindings/microbatch.h"
#include "torch/model/model.h"

namespace py = pybind11;

namespace dynaflow::bindings {
namespace {

using model::Argument;
using model::BatchFacts;
using model::Item;
using model::Model;

const BatchFacts& or_empty(const BatchFacts* facts) {
  static const BatchFacts kNone;
  return facts != nullptr ? *facts : kNone;
}

Argument to_argument(PyObject* object) {
  if (THPVariable_Check(object)) return &THPVariable_Unpack(object);
  if (PyLong_Check(object)) return static_cast<std::int64_t>(PyLong_AsLongLong(object));
  return std::monostate{};
}

py::object to_python(Item item) {
  if (auto* tensor = std::get_if<at::Tensor>(&item)) {
    return py::reinterpret_steal<py::object>(THPVariable_Wrap(std::move(*tensor)));
  }
  if (const auto* number = std::get_if<std::int64_t>(&item)) return py::int_(*number);
  return py::none();
}

py::list to_python(std::vector<Item>& items) {
  py::list list(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    PyList_SET_ITEM(list.ptr(), static_cast<Py_ssize_t>(i),
                    to_python(std::move(items[i])).release().ptr());
  }
  return list;
}

py::list run(Model& model, const py::list& arguments, const BatchFacts* facts, bool trace,
             const py::object& context) {
  const Model::Lent work = model.lend();
  const auto size = static_cast<Py_ssize_t>(arguments.size());
  for (Py_ssize_t i = 0; i < size; ++i) {
    work->arguments.push_back(to_argument(PyList_GET_ITEM(arguments.ptr(), i)));
  }
  model.read_batch(*work, or_empty(facts));
  RunContext of_run(work->batch, context);
  RunOptions options;
  if (trace) options.trace = RunOptions::Trace::kOn;
  auto well = [&] {
    const py::gil_scoped_release no_gil;
    return model.run(*work, options, of_run);
  }();
  unwrap(std::move(well));
  return to_python(work->returned);
}

/// Sizes by the names of the capture's free symbols, in their order.
Batch batch_of(const Model& model, const std::vector<std::int64_t>& sizes,
               const BatchFacts& facts) {
  const capture::Capture& capture = model.cut().capture();
  Batch batch;
  batch.symbols = sizes;
  batch.symbols.resize(capture.symbols.size());
  capture.complete(batch.symbols);
  batch.rows = capture.batch().valid() ? batch.symbols[capture.batch().index] : 1;
  batch.requests = facts.requests;
  batch.facts = facts.facts;
  return batch;
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

/// What became of the calls, for tables and `explain`.
py::dict counts(const Model& model) {
  using Runs = rows::CallRows::Runs;
  const rows::Rows& rows = model.cut().rows;
  const auto count = [&](Runs runs) {
    return std::ranges::count(rows.calls, runs, &rows::CallRows::runs);
  };
  py::dict dict;
  dict["calls"] = rows.calls.size();
  dict["ops"] = model.cut().regions.size();
  dict["bodies"] = model.cut().bodies;
  dict["split"] = count(Runs::kRowWise);
  dict["once"] = count(Runs::kOnce);
  dict["merged"] = count(Runs::kMerged);
  dict["drawn"] = count(Runs::kDrawn);
  dict["unknown"] = count(Runs::kUnknown);
  dict["updates_in_place"] = model.undone().updates;
  dict["copies_back_undone"] = model.undone().copies_back;
  dict["clones"] = model.undone().clones;
  return dict;
}

/// A line for each call that sees the whole batch for a reason, and the reason.
std::string merged(const Model& model) {
  using Runs = rows::CallRows::Runs;
  const rows::Rows& rows = model.cut().rows;
  std::string text;
  for (std::size_t c = 0; c < rows.calls.size(); ++c) {
    const Runs runs = rows.calls[c].runs;
    if (runs == Runs::kRowWise || runs == Runs::kOnce) continue;
    text += "  " + to_string(rows.capture, rows.capture.calls[c]) +
            "\n    runs merged: " + rows.calls[c].reason + '\n';
  }
  return text;
}

std::size_t hash_of(const BatchFacts& facts) {
  std::size_t hash = facts.requests.size();
  const auto add = [&](std::size_t part) { hash = hash * 31 + part; };
  for (const std::int64_t rows : facts.requests) add(static_cast<std::size_t>(rows));
  for (const auto& [name, value] : facts.facts) {
    add(std::hash<std::string>()(name));
    add(static_cast<std::size_t>(value));
  }
  return hash;
}

std::shared_ptr<Model> make_model(const std::string& document, const std::vector<cut::Rule>& rules,
                                  std::shared_ptr<const OpScheduler> scheduler,
                                  std::vector<at::Tensor> constants,
                                  std::vector<std::string> row_wise) {
  return unwrap(Model::make(unwrap(capture::from_json(document)), rules, std::move(scheduler),
                            std::move(constants), {std::move(row_wise)}));
}

Split split(Model& model, const std::vector<std::int64_t>& sizes, const BatchFacts* facts) {
  const Batch batch = batch_of(model, sizes, or_empty(facts));
  const py::gil_scoped_release no_gil;
  return unwrap(model.split(batch));
}

// Of the program that ran last; nothing before the first run.

std::string plan(const Model& model) {
  const auto program = model.last_program();
  return program ? to_string(program->plan(), model.graph()) : std::string();
}

Timeline timeline(const Model& model) {
  const auto program = model.last_program();
  return program ? program->timeline() : Timeline();
}

py::list lanes(const Model& model) {
  py::list lanes;
  const auto program = model.last_program();
  if (!program) return lanes;
  for (const LaneGrant& lane : program->lanes()) {
    lanes.append(py::make_tuple(lane.name, lane.cores));
  }
  return lanes;
}

/// Sizes that each batch gives anew, by name.
std::vector<std::string> symbols(const Model& model) {
  std::vector<std::string> names;
  for (const auto& symbol : model.cut().capture().symbols) {
    if (symbol.role != capture::Symbol::Role::kDerived) names.push_back(symbol.name);
  }
  return names;
}

py::dict compile_stats(Model& model) {
  const CompileStats stats = model.compile_stats();
  py::dict dict;
  dict["splits"] = stats.splits;
  dict["recordings"] = stats.recordings;
  dict["bindings"] = stats.bindings;
  return dict;
}

void add_facts(py::module_& module) {
  py::class_<BatchFacts>(module, "BatchFacts", "What a caller says of a batch beyond its tensors.")
      .def(py::init<std::vector<std::int64_t>, std::map<std::string, std::int64_t>>(),
           py::arg("requests"), py::arg("facts"))
      .def("__eq__", [](const BatchFacts& a, const BatchFacts& b) { return a == b; })
      .def("__hash__", &hash_of);
}

}  // namespace

void add_model(py::module_& module) {
  add_facts(module);
  py::class_<cut::Rule>(module, "Rule")
      .def(py::init(&to_rule), py::arg("selects"), py::arg("patterns"), py::arg("tags"));
  py::class_<Model, std::shared_ptr<Model>>(module, "Model")
      .def(py::init(&make_model), py::arg("document"), py::arg("rules"), py::arg("scheduler"),
           py::arg("constants"), py::arg("row_wise") = std::vector<std::string>())
      .def("run", &run, py::arg("arguments"), py::arg("facts") = py::none(),
           py::arg("trace") = false, py::arg("context") = py::none())
      .def("split", &split, py::arg("sizes"), py::arg("facts") = py::none())
      .def_property_readonly("plan", &plan)
      .def_property_readonly("timeline", &timeline)
      .def_property_readonly("lanes", &lanes)
      .def_property_readonly("symbols", &symbols)
      .def_property_readonly("counts", &counts)
      .def_property_readonly("compile_stats", &compile_stats)
      .def_property_readonly("warnings", [](const Model& model) { return model.cut().warnings; })
      .def_property_readonly("stats",
                             [](const Model& model) { return to_dict(model.last_stats()); })
      .def_property_readonly("rows", [](const Model& model) { return to_string(model.cut().rows); })
      .def_property_readonly("merged", &merged)
      .def_property_readonly("cut", [](const Model& model) { return to_string(model.cut()); })
      .def_property_readonly("graph", [](const Model& model) { return to_string(model.graph()); });
}

}  // namespace dynaflow::bindings
