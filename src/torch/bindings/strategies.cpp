#include "torch/bindings/strategies.h"

#include <pybind11/stl.h>

#include "dynaflow/strategies/comm_overlap.h"
#include "dynaflow/strategies/strategies.h"
#include "torch/bindings/errors.h"

namespace py = pybind11;

namespace dynaflow::bindings {
namespace {

void add_race(py::module_& module) {
  py::class_<Race>(module, "Race",
                   "Which of several programs is fastest: they run in rounds; who is surely "
                   "slower drops out.")
      .def(py::init<std::size_t>(), py::arg("runners"))
      .def_property_readonly("left", &Race::left)
      .def_property_readonly("rounds", &Race::rounds)
      .def_property_readonly("leader", &Race::leader)
      .def(
          "add", [](Race& race, const std::vector<std::int64_t>& taken_ns) { race.add(taken_ns); },
          py::arg("taken_ns"))
      .def("taken_ns", &Race::taken_ns, py::arg("runner"));
}

void add_costs(py::module_& module) {
  using Point = MeasuredCosts::Point;
  py::class_<Point>(module, "CostPoint", "What one batch of some rows costs, in nanoseconds.")
      .def(py::init<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>(),
           py::kw_only(), py::arg("rows"), py::arg("compute_ns"), py::arg("network_ns"),
           py::arg("network_cpu_ns"), py::arg("whole_ns"))
      .def_readonly("rows", &Point::rows)
      .def_readonly("compute_ns", &Point::compute_ns)
      .def_readonly("network_ns", &Point::network_ns)
      .def_readonly("network_cpu_ns", &Point::network_cpu_ns)
      .def_readonly("whole_ns", &Point::whole_ns);
  py::class_<MeasuredCosts>(module, "MeasuredCosts",
                            "What a model costs on one machine, by rows: see calibrate.")
      .def(py::init<std::string, std::int64_t, std::vector<Point>, std::vector<double>>(),
           py::kw_only(), py::arg("machine"), py::arg("transfers"), py::arg("points"),
           py::arg("slowdowns") = std::vector<double>())
      .def_readonly("machine", &MeasuredCosts::machine)
      .def_readonly("transfers", &MeasuredCosts::transfers)
      .def_readonly("points", &MeasuredCosts::points)
      .def_readonly("slowdowns", &MeasuredCosts::slowdowns)
      .def("after", &MeasuredCosts::after, py::arg("race"),
           "The same once the largest size has run: whole as runner 0, in n parts as runner n.")
      .def("at", &MeasuredCosts::at, py::arg("rows"))
      .def("overlapped_ns", &MeasuredCosts::overlapped_ns, py::arg("rows"), py::arg("parts"))
      .def("expected_ns", &MeasuredCosts::expected_ns, py::arg("rows"), py::arg("parts"))
      .def("best_parts", &MeasuredCosts::best_parts, py::arg("rows"), py::arg("most") = 4,
           "How many micro-batches are fastest; None where the batch is best left whole.")
      .def("to_json", [](const MeasuredCosts& costs) { return to_json(costs); })
      .def_static(
          "from_json",
          [](const std::string& document) { return unwrap(costs_from_json(document)); },
          py::arg("document"));
}

void add_built_in(py::module_& module) {
  py::class_<Sequential, OpScheduler, py::smart_holder>(
      module, "Sequential", "One op after the other on one lane, micro-batch by micro-batch.")
      .def(py::init<int>(), py::arg("parts") = 1);
  py::class_<Leapfrog, OpScheduler, py::smart_holder>(
      module, "Leapfrog", "One op of each micro-batch in turn; network ops on a lane of their own.")
      .def(py::init<int>(), py::arg("parts") = 2);
  py::class_<Branches, OpScheduler, py::smart_holder>(
      module, "Branches", "Independent branches of one micro-batch side by side.")
      .def(py::init<int, int>(), py::arg("lanes") = 2, py::arg("parts") = 1);
  py::class_<CommOverlap, OpScheduler, py::smart_holder>(
      module, "CommOverlap",
      "Micro-batches leapfrog: while one micro-batch's transfer is on the wire, the others "
      "compute. "
      "Two transfers may be on their way at once.")
      .def(py::init<int>(), py::arg("parts") = 2)
      .def(py::init<MeasuredCosts, int>(), py::arg("costs"), py::arg("most_parts") = 4);
}

}  // namespace

void add_strategies(py::module_& module) {
  add_race(module);
  add_costs(module);
  add_built_in(module);
}

}  // namespace dynaflow::bindings
