#include "torch/bindings/timeline.h"

#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "dynaflow/explain/explanation.h"
#include "dynaflow/explain/ranks.h"
#include "dynaflow/explain/save.h"
#include "torch/bindings/errors.h"

namespace py = pybind11;

namespace dynaflow::bindings {
namespace {

using Names = std::map<std::string, std::int64_t>;

Names by_cost(const CostTimes& times) {
  return {
      {"compute", times.compute_ns}, {"memory", times.memory_ns}, {"network", times.network_ns}};
}

Names path_ns(const Explanation& explanation) {
  Names parts = by_cost(explanation.path.busy);
  parts["host"] = explanation.path.host_ns;
  return parts;
}

py::list spans(const Timeline& timeline) {
  py::list spans;
  for (const Timeline::Span& span : timeline.spans) {
    spans.append(
        py::make_tuple(span.label, timeline.lanes[span.lane.index], span.begin_ns, span.end_ns));
  }
  return spans;
}

std::vector<std::pair<std::string, std::int64_t>> waited_for(const Explanation::Lane& lane) {
  std::vector<std::pair<std::string, std::int64_t>> ops;
  ops.reserve(lane.waited_for.size());
  for (const Explanation::Awaited& awaited : lane.waited_for) {
    ops.emplace_back(awaited.op, awaited.ns);
  }
  return ops;
}

std::vector<NamedTimeline> by_name(const py::dict& timelines) {
  std::vector<NamedTimeline> named;
  for (const auto& [name, timeline] : timelines) {
    if (!py::isinstance<py::str>(name) || !py::isinstance<Timeline>(timeline)) {
      throw py::type_error("timelines are given by name: {\"a name\": timeline}");
    }
    named.push_back({name.cast<std::string>(), timeline.cast<const Timeline&>()});
  }
  return named;
}

py::list transfers(const RanksExplanation& explanation) {
  py::list transfers;
  for (const RanksExplanation::Transfer& transfer : explanation.transfers) {
    transfers.append(py::make_tuple(transfer.label, explanation.ranks[transfer.last].name,
                                    transfer.awaited_ns, transfer.wire_ns));
  }
  return transfers;
}

void add_explanation(py::module_& module) {
  using Lane = Explanation::Lane;
  using PathStep = Explanation::PathStep;
  py::class_<Lane>(module, "LaneTimes", "Where one lane's time went.")
      .def_readonly("name", &Lane::name)
      .def_property_readonly("busy_ns", [](const Lane& lane) { return lane.busy.total_ns(); })
      .def_property_readonly("waited_ns", [](const Lane& lane) { return by_cost(lane.waited); })
      .def_readonly("tail_ns", &Lane::tail_ns)
      .def_readonly("host_ns", &Lane::host_ns)
      .def_readonly("queued_ns", &Lane::queued_ns)
      .def_readonly("taken_ns", &Lane::taken_ns)
      .def_property_readonly("waited_for", &waited_for);
  py::class_<PathStep>(module, "PathStep", "One step of the critical path.")
      .def_readonly("label", &PathStep::label)
      .def_property_readonly("cost", [](const PathStep& step) { return to_string(step.cost); })
      .def_readonly("gap_ns", &PathStep::gap_ns)
      .def_readonly("ns", &PathStep::ns);
  py::class_<Explanation>(module, "Explanation", "Where the time of a run went.")
      .def_readonly("total_ns", &Explanation::total_ns)
      .def_property_readonly("bound_ns", [](const Explanation& e) { return e.bound.ns; })
      .def_property_readonly("share", &Explanation::share)
      .def_readonly("network_ns", &Explanation::network_ns)
      .def_readonly("exposed_ns", &Explanation::exposed_ns)
      .def_property_readonly("path", [](const Explanation& e) { return e.path.steps; })
      .def_property_readonly("path_ns", &path_ns)
      .def_readonly("lanes", &Explanation::lanes)
      .def_property_readonly("advice", &advice)
      .def("__str__", [](const Explanation& e) { return to_string(e); });
}

void add_ranks(py::module_& module) {
  using Rank = RanksExplanation::Rank;
  py::class_<Rank>(module, "RankTimes", "What one rank's transfers took, and for whom they waited.")
      .def_readonly("name", &Rank::name)
      .def_readonly("network_ns", &Rank::network_ns)
      .def_readonly("awaited_ns", &Rank::awaited_ns)
      .def_readonly("late_ns", &Rank::late_ns)
      .def_readonly("last", &Rank::last);
  py::class_<RanksExplanation>(module, "RanksExplanation",
                               "What transfers waited for ranks, and what the wire took.")
      .def_readonly("ranks", &RanksExplanation::ranks)
      .def_property_readonly("transfers", &transfers)
      .def("__str__", [](const RanksExplanation& e) { return to_string(e); });
  module.def(
      "explain_ranks",
      [](const py::dict& timelines) { return unwrap(explain_ranks(by_name(timelines))); },
      py::arg("timelines"));
}

}  // namespace

void add_timeline(py::module_& module) {
  add_explanation(module);
  add_ranks(module);
  py::class_<Timeline>(module, "Timeline", "When each step of a traced run ran.")
      .def_property_readonly("total_ns", [](const Timeline& t) { return t.total_ns; })
      .def_property_readonly("spans", &spans,
                             "(step, lane, begin, end) of each step, in nanoseconds.")
      .def("overlapped_ns", &overlapped_ns, "How long at least two lanes were busy.")
      .def("explain", &explain, "Where the time went.")
      .def("chrome_trace", &to_chrome_trace, "JSON that Perfetto opens.")
      .def(
          "save",
          [](const Timeline& t, const std::filesystem::path& path) { unwrap(save(t, path)); },
          py::arg("path"))
      .def_static(
          "load", [](const std::filesystem::path& path) { return unwrap(load_timeline(path)); },
          py::arg("path"))
      .def("__eq__", [](const Timeline& t, const Timeline& other) { return t == other; })
      .def("__str__", [](const Timeline& t) { return to_string(t); });
  module.def(
      "save_html",
      [](const std::filesystem::path& path, const py::dict& timelines) {
        unwrap(save_html(path, by_name(timelines)));
      },
      py::arg("path"), py::arg("timelines"));
}

}  // namespace dynaflow::bindings
