#include "torch/bindings/traced_function.h"

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <utility>

#include "import/capture/json.h"
#include "import/cut/layout.h"
#include "import/cut/views.h"
#include "torch/bindings/errors.h"
#include "torch/bindings/user_code.h"

namespace py = pybind11;

namespace dynaflow::bindings {
namespace {

constexpr const char* kModule = "dynaflow._capture.replacement";

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// A polynomial as Python takes it: terms of a coefficient and the indices of its symbols.
py::list to_python(const Extent& extent) {
  py::list terms;
  if (extent.constant() != 0) terms.append(py::make_tuple(extent.constant(), py::list()));
  for (const Extent::Term& term : extent.terms()) {
    py::list factors;
    for (const SymbolId symbol : term.factors) factors.append(symbol.index);
    terms.append(py::make_tuple(term.coefficient, std::move(factors)));
  }
  return terms;
}

py::list to_python(const std::vector<Extent>& extents) {
  py::list list;
  for (const Extent& extent : extents) list.append(to_python(extent));
  return list;
}

py::list to_python(std::span<const ChainOperand> operands) {
  const py::object make = py::module_::import(kModule).attr("Operand");
  py::list list;
  for (const ChainOperand& operand : operands) {
    const capture::Tensor& tensor = operand.captured();
    const auto layout = cut::layout_of(operand.body->cut().rows, operand.tensor);
    list.append(make(to_string(tensor.dtype), to_python(tensor.sizes), to_python(layout.strides)));
  }
  return list;
}

/// All calls of a capture as one region.
std::shared_ptr<const cut::Cut> as_one(capture::Capture capture) {
  auto cut = std::make_shared<cut::Cut>();
  cut->rows = rows::find_rows(std::move(capture));
  const capture::Capture& all = cut->capture();
  cut->base = cut::Views(all).base;
  cut::Region& region = cut->regions.emplace_back();
  region.name = all.name;
  for (std::uint32_t i = 0; i < all.calls.size(); ++i) region.calls.push_back({i});
  for (const capture::Input& input : all.inputs) {
    if (input.role == capture::Input::Role::kArgument) region.reads.push_back(input.tensor);
  }
  for (const capture::Output& output : all.outputs) region.writes.push_back(output.tensor);
  return cut;
}

/// Which of the graph's symbols each of the capture's is; `names` are the graph's in the capture.
std::vector<SymbolId> find_symbols(const capture::Capture& capture,
                                   const std::vector<std::string>& names) {
  std::vector<SymbolId> symbols;
  for (const capture::Symbol& symbol : capture.symbols) {
    const auto at = std::ranges::find(names, symbol.name);
    symbols.push_back(at == names.end() ? SymbolId{}
                                        : SymbolId{static_cast<std::uint32_t>(at - names.begin())});
  }
  return symbols;
}

std::string coupling_of(const rows::Rows& rows) {
  for (std::size_t c = 0; c < rows.calls.size(); ++c) {
    if (rows.calls[c].runs != rows::CallRows::Runs::kMerged) continue;
    return rows.capture.calls[c].name() + ": " + rows.calls[c].reason;
  }
  return {};
}

}  // namespace

Traced trace(const py::function& function, const std::string& name,
             std::span<const ChainOperand> reads, std::span<const ChainOperand> writes) {
  const capture::Capture& graph =
      reads.empty() ? writes.front().body->cut().capture() : reads.front().body->cut().capture();
  const py::object batch =
      graph.batch().valid() ? py::object(py::int_(graph.batch().index)) : py::none();
  try {
    const UserCode state;
    const py::tuple traced = py::module_::import(kModule).attr("trace")(
        function, name, to_python(reads), to_python(writes), graph.spoken_names(), batch);
    auto capture = capture::from_json(traced[0].cast<std::string>());
    if (!capture) return {.reason = to_string(capture.error())};
    const auto cut = as_one(*std::move(capture));
    aten::AtenBody::Own own{
        traced[1].cast<std::vector<at::Tensor>>(),
        find_symbols(cut->capture(), traced[2].cast<std::vector<std::string>>())};
    return {std::make_shared<const aten::AtenBody>(cut, cut->regions.front(), std::move(own)),
            {},
            {},
            coupling_of(cut->rows)};
  } catch (const py::error_already_set& failure) {
    const std::string text = first_line(py::str(failure.value()));
    if (failure.matches(py::module_::import(kModule).attr("WrongResultError"))) {
      return {.wrong = text};
    }
    return {.reason = text};
  }
}

}  // namespace dynaflow::bindings
