#include <cmath>
#include <nlohmann/json.hpp>

#include "import/capture/json.h"
#include "import/capture/json_names.h"

namespace dynaflow::capture {
namespace {

using json::kDTypes;
using json::kFormat;
using json::kFunctions;
using json::kInputRoles;
using json::kSymbolRoles;
using json::kTokens;
using Json = nlohmann::ordered_json;

template <class Names, class T>
std::string text_of(const Names& names, T value) {
  for (const auto& name : names) {
    if (name.value == value) return std::string(name.text);
  }
  return {};
}

class Writer {
 public:
  explicit Writer(const Capture& capture) : capture_(capture) {}

  std::string write() const {
    std::string text =
        "{\"format\": " + Json(kFormat).dump() + ",\n \"name\": " + Json(capture_.name).dump();
    text += lines("symbols", capture_.symbols, [&](const Symbol& item) { return symbol(item); });
    text += lines("tensors", capture_.tensors, [&](const Tensor& item) { return tensor(item); });
    text += lines("inputs", capture_.inputs, [&](const Input& item) { return input(item); });
    text += lines("calls", capture_.calls, [&](const Call& item) { return call(item); });
    text += lines("outputs", capture_.outputs, [&](const Output& item) { return output(item); });
    return text + "}\n";
  }

 private:
  template <class Items, class F>
  static std::string lines(const char* key, const Items& items, const F& f) {
    std::string text = ",\n \"" + std::string(key) + "\": [";
    const char* separator = "\n  ";
    for (const auto& item : items) {
      const Json json = f(item);
      if (json.is_discarded()) continue;
      text += separator + json.dump();
      separator = ",\n  ";
    }
    return text + "]";
  }

  /// Derived symbols are written where they are used.
  static Json symbol(const Symbol& item) {
    if (item.role == Symbol::Role::kDerived) return Json(Json::value_t::discarded);
    return {{"name", item.name}, {"role", text_of(kSymbolRoles, item.role)}};
  }

  Json tensor(const Tensor& item) const {
    return {{"name", item.name},
            {"dtype", text_of(kDTypes, item.dtype)},
            {"sizes", extents(item.sizes)},
            {"strides", extents(item.strides)},
            {"offset", extent(item.offset)}};
  }

  Json input(const Input& item) const {
    Json json{{"name", item.name}, {"role", text_of(kInputRoles, item.role)}};
    if (item.tensor.valid()) json["tensor"] = item.tensor.index;
    if (item.role == Input::Role::kSymbol) json["symbol"] = extent(item.symbol);
    return json;
  }

  Json call(const Call& item) const {
    Json json{{"op", item.op}, {"overload", item.overload}, {"arguments", Json::array()}};
    for (const Argument& value : item.arguments) json["arguments"].push_back(argument(value));
    json["outputs"] = Json::array();
    for (const TensorId id : item.outputs) {
      json["outputs"].push_back(id.valid() ? Json(id.index) : Json());
    }
    json["writes"] = item.writes;
    json["aliases"] = Json::array();
    for (const Call::Alias& alias : item.aliases) {
      json["aliases"].push_back({alias.output, alias.argument});
    }
    json["updates"] = Json::array();
    for (const Call::Update& update : item.updates) {
      json["updates"].push_back({update.tensor.index, update.output});
    }
    json["tags"] = item.tags;
    json["modules"] = Json::array();
    for (const Module& module : item.modules) json["modules"].push_back({module.path, module.type});
    json["user_calls"] = Json::array();
    for (const UserCall& user : item.user_calls) {
      json["user_calls"].push_back({user.function, user.id});
    }
    json["marks"] = Json::array();
    for (const Mark& mark : item.marks) {
      json["marks"].push_back(Json{{"name", mark.name}, {"tags", mark.tags}});
    }
    json["line"] = item.line;
    return json;
  }

  Json output(const Output& item) const {
    if (item.tensor.valid()) return {{"tensor", item.tensor.index}};
    if (item.symbol) return {{"symbol", extent(*item.symbol)}};
    if (!item.scalar.empty()) return {{"scalar", Json::parse(item.scalar)}};
    return {};
  }

  Json argument(const Argument& item) const {
    return std::visit([&](const auto& value) { return json_of(value); }, item.value);
  }
  static Json json_of(Argument::None) { return {}; }
  static Json json_of(bool value) { return value; }
  static Json json_of(std::int64_t value) { return value; }
  static Json json_of(const std::string& value) { return value; }
  static Json json_of(TensorId value) { return {{"t", value.index}}; }
  Json json_of(const Extent& value) const { return {{"e", extent(value)}}; }
  static Json json_of(double value) {
    if (std::isfinite(value)) return value;
    return {{"float", std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf"}};
  }
  static Json json_of(const Token& value) {
    const Json text =
        value.what == Token::What::kComplex ? Json::parse(value.text) : Json(value.text);
    return {{text_of(kTokens, value.what), text}};
  }
  Json json_of(const Argument::List& list) const {
    Json json = Json::array();
    for (const Argument& item : list) json.push_back(argument(item));
    return json;
  }

  Json extents(const std::vector<Extent>& items) const {
    Json json = Json::array();
    for (const Extent& item : items) json.push_back(extent(item));
    return json;
  }

  Json extent(const Extent& size) const {
    if (size.is_constant()) return size.constant();
    Json sum = Json::array({"add"});
    if (size.constant() != 0) sum.push_back(size.constant());
    for (const Extent::Term& term : size.terms()) {
      Json product = Json::array({"mul"});
      if (term.coefficient != 1) product.push_back(term.coefficient);
      for (const SymbolId factor : term.factors) product.push_back(factor_json(factor));
      sum.push_back(product.size() == 2 ? product.at(1) : product);
    }
    return sum.size() == 2 ? sum.at(1) : sum;
  }

  Json factor_json(SymbolId id) const {
    const Symbol& symbol = capture_.symbols[id.index];
    if (symbol.role != Symbol::Role::kDerived) return symbol.name;
    return Json::array({text_of(kFunctions, symbol.function), extent(symbol.arguments[0]),
                        extent(symbol.arguments[1])});
  }

  const Capture& capture_;
};

}  // namespace

std::string to_json(const Capture& capture) { return Writer(capture).write(); }

}  // namespace dynaflow::capture
