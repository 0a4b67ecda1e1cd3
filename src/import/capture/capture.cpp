#include "import/capture/capture.h"

#include <algorithm>

#include "dynaflow/base/check.h"

namespace dynaflow::capture {
namespace {

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

std::int64_t apply(Symbol::Function function, std::int64_t a, std::int64_t b) {
  switch (function) {
    case Symbol::Function::kFloorDiv:
      return b == 0 ? 0 : floor_div(a, b);
    case Symbol::Function::kMod:
      return b == 0 ? 0 : a - floor_div(a, b) * b;
    case Symbol::Function::kMax:
      return std::max(a, b);
    case Symbol::Function::kMin:
      return std::min(a, b);
    case Symbol::Function::kNone:
      break;
  }
  DYNAFLOW_CHECK(false && "a derived symbol has a function");
}

struct ArgumentText {
  const Capture& capture;

  std::string operator()(Argument::None) const { return "none"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return std::to_string(value); }
  std::string operator()(const std::string& value) const { return '"' + value + '"'; }
  std::string operator()(TensorId tensor) const { return capture.tensor(tensor).name; }
  std::string operator()(const Extent& size) const {
    return dynaflow::to_string(size, capture.spoken_names());
  }
  std::string operator()(const Token& token) const { return token.text; }
  std::string operator()(const Argument::List& list) const {
    std::string text = "[";
    for (const Argument& item : list) {
      if (text.size() > 1) text += ", ";
      text += std::visit(*this, item.value);
    }
    return text + "]";
  }
};

}  // namespace

Extent elements(const Tensor& tensor) {
  Extent product = 1;
  for (const Extent& size : tensor.sizes) product *= size;
  return product;
}

bool is_dense(const Tensor& tensor) {
  Extent stride = 1;
  for (std::size_t d = tensor.sizes.size(); d-- > 0;) {
    if (tensor.strides[d] != stride && tensor.sizes[d] != Extent(1)) return false;
    stride *= tensor.sizes[d];
  }
  return true;
}

std::optional<TensorId> Argument::tensor() const {
  const auto* tensor = std::get_if<TensorId>(&value);
  return tensor == nullptr ? std::nullopt : std::optional(*tensor);
}

std::optional<Extent> Argument::size() const {
  if (const auto* size = std::get_if<Extent>(&value)) return *size;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return Extent(*integer);
  return std::nullopt;
}

std::optional<std::int64_t> Argument::integer() const {
  const auto* integer = std::get_if<std::int64_t>(&value);
  return integer == nullptr ? std::nullopt : std::optional(*integer);
}

std::optional<bool> Argument::boolean() const {
  const auto* boolean = std::get_if<bool>(&value);
  return boolean == nullptr ? std::nullopt : std::optional(*boolean);
}

const Argument::List& Argument::list() const {
  static const List kNone;
  const auto* list = std::get_if<List>(&value);
  return list == nullptr ? kNone : *list;
}

bool Call::has_tag(std::string_view tag) const {
  return std::ranges::find(tags, tag) != tags.end();
}

bool Call::writes_argument(std::uint32_t argument) const {
  return std::ranges::find(writes, argument) != writes.end();
}

std::string Call::name() const { return overload.empty() ? op : op + "." + overload; }

SymbolId Capture::batch() const {
  const auto at = std::ranges::find(symbols, Symbol::Role::kBatch, &Symbol::role);
  if (at == symbols.end()) return {};
  return id_at<SymbolId>(static_cast<std::size_t>(at - symbols.begin()));
}

std::vector<std::string> Capture::symbol_names() const {
  std::vector<std::string> names;
  names.reserve(symbols.size());
  for (const Symbol& symbol : symbols) names.push_back(symbol.name);
  return names;
}

std::vector<std::string> Capture::spoken_names() const {
  std::vector<std::string> names = symbol_names();
  if (const SymbolId symbol = batch(); symbol.valid()) names[symbol.index] = "batch";
  return names;
}

void Capture::complete(std::vector<std::int64_t>& values) const {
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const Symbol& symbol = symbols[i];
    if (symbol.role != Symbol::Role::kDerived) continue;
    values[i] = apply(symbol.function, symbol.arguments[0].evaluate(values),
                      symbol.arguments[1].evaluate(values));
  }
}

bool Capture::depends_on(SymbolId symbol, SymbolId other) const {
  if (symbol == other) return true;
  const auto reaches = [&](const Extent& argument) { return depends_on(argument, other); };
  return std::ranges::any_of(symbols[symbol.index].arguments, reaches);
}

bool Capture::depends_on(const Extent& size, SymbolId other) const {
  for (const Extent::Term& term : size.terms()) {
    for (const SymbolId factor : term.factors) {
      if (depends_on(factor, other)) return true;
    }
  }
  return false;
}

bool Capture::depends_on_data(const Extent& size) const {
  const auto from_data = [&](SymbolId id) {
    const Symbol& symbol = symbols[id.index];
    return symbol.role == Symbol::Role::kData ||
           std::ranges::any_of(symbol.arguments,
                               [&](const Extent& argument) { return depends_on_data(argument); });
  };
  return std::ranges::any_of(size.terms(), [&](const Extent::Term& term) {
    return std::ranges::any_of(term.factors, from_data);
  });
}

std::string to_string(const Capture& capture, const Tensor& tensor) {
  std::string text = dynaflow::to_string(tensor.dtype) + "[";
  const std::vector<std::string> names = capture.spoken_names();
  for (std::size_t d = 0; d < tensor.sizes.size(); ++d) {
    if (d > 0) text += ", ";
    text += dynaflow::to_string(tensor.sizes[d], names);
  }
  return text + "]";
}

std::string to_string(const Capture& capture, const Call& call) {
  std::string text;
  for (const TensorId output : call.outputs) {
    if (!text.empty()) text += ", ";
    text += output.valid() ? capture.tensor(output).name : "_";
  }
  text += " = " + call.name() + "(";
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::visit(ArgumentText{capture}, call.arguments[i].value);
  }
  return text + ")";
}

std::string to_string(const Capture& capture) {
  std::string text = "capture " + capture.name + "  " + std::to_string(capture.calls.size()) +
                     " calls, " + std::to_string(capture.inputs.size()) + " inputs\n";
  for (const Call& call : capture.calls) {
    text += "  " + to_string(capture, call);
    for (const TensorId output : call.outputs) {
      if (output.valid()) text += "  " + to_string(capture, capture.tensor(output));
    }
    text += '\n';
  }
  return text;
}

}  // namespace dynaflow::capture
