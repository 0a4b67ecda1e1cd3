#include "import/capture/json.h"

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <unordered_map>
#include <utility>

namespace dynaflow::capture {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "dynaflow-capture/1";
constexpr std::int64_t kMostFactors = 64;  // of one size

/// What is wrong with the document, and where.
struct BadDocument : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class T>
struct Name {
  std::string_view text;
  T value;
};

constexpr std::array kDTypes{
    Name{"bool", DType::kBool}, Name{"u8", DType::kU8},     Name{"i8", DType::kI8},
    Name{"i16", DType::kI16},   Name{"i32", DType::kI32},   Name{"i64", DType::kI64},
    Name{"f16", DType::kF16},   Name{"bf16", DType::kBF16}, Name{"f32", DType::kF32},
    Name{"f64", DType::kF64},   Name{"c64", DType::kC64},   Name{"c128", DType::kC128},
};
constexpr std::array kSymbolRoles{
    Name{"batch", Symbol::Role::kBatch},
    Name{"size", Symbol::Role::kSize},
    Name{"data", Symbol::Role::kData},
};
constexpr std::array kInputRoles{
    Name{"argument", Input::Role::kArgument}, Name{"parameter", Input::Role::kParameter},
    Name{"buffer", Input::Role::kBuffer},     Name{"constant", Input::Role::kConstant},
    Name{"symbol", Input::Role::kSymbol},     Name{"scalar", Input::Role::kScalar},
};
constexpr std::array kFunctions{
    Name{"floordiv", Symbol::Function::kFloorDiv},
    Name{"mod", Symbol::Function::kMod},
    Name{"max", Symbol::Function::kMax},
    Name{"min", Symbol::Function::kMin},
};
constexpr std::array kTokens{
    Name{"dtype", Token::What::kDType},
    Name{"device", Token::What::kDevice},
    Name{"layout", Token::What::kLayout},
    Name{"memory_format", Token::What::kMemoryFormat},
    Name{"scalar_complex", Token::What::kComplex},
};

template <class Names>
auto value_of(const Names& names, std::string_view text, std::string_view what) {
  for (const auto& name : names) {
    if (name.text == text) return name.value;
  }
  throw BadDocument("unknown " + std::string(what) + " '" + std::string(text) + "'");
}

template <class Names, class T>
std::string text_of(const Names& names, T value) {
  for (const auto& name : names) {
    if (name.value == value) return std::string(name.text);
  }
  return {};
}

class Reader {
 public:
  Capture read(const Json& document) {
    if (document.at("format") != kFormat) {
      throw BadDocument("format is " + document.at("format").dump() + ", not " +
                        std::string(kFormat));
    }
    capture_.name = document.at("name").get<std::string>();
    each(document, "symbols", [&](const Json& item) { add_symbol(item); });
    each(document, "tensors", [&](const Json& item) { add_tensor(item); });
    each(document, "inputs", [&](const Json& item) { add_input(item); });
    each(document, "calls", [&](const Json& item) { add_call(item); });
    each(document, "outputs", [&](const Json& item) { add_output(item); });
    return std::move(capture_);
  }

  [[nodiscard]] const std::string& place() const { return place_; }

 private:
  template <class F>
  void each(const Json& document, const char* key, const F& f) {
    place_ = key;
    const Json& items = document.at(key);
    if (!items.is_array()) throw BadDocument("no list");
    std::size_t i = 0;
    for (const Json& item : items) {
      place_ = std::string(key) + "[" + std::to_string(i++) + "]";
      f(item);
    }
  }

  void add_symbol(const Json& item) {
    const auto role = value_of(kSymbolRoles, item.at("role").get<std::string>(), "role");
    if (role == Symbol::Role::kBatch && capture_.batch().valid()) {
      throw BadDocument("a second batch symbol");
    }
    const auto name = item.at("name").get<std::string>();
    const auto id = id_at<SymbolId>(capture_.symbols.size());
    if (!by_name_.emplace(name, id).second) throw BadDocument("a second symbol '" + name + "'");
    capture_.symbols.push_back({name, role});
  }

  void add_tensor(const Json& item) {
    Tensor tensor;
    tensor.name = item.at("name").get<std::string>();
    tensor.dtype = value_of(kDTypes, item.at("dtype").get<std::string>(), "dtype");
    for (const Json& size : item.at("sizes")) tensor.sizes.push_back(extent(size));
    for (const Json& stride : item.at("strides")) tensor.strides.push_back(extent(stride));
    if (tensor.strides.size() != tensor.sizes.size()) throw BadDocument("sizes without strides");
    if (item.contains("offset")) tensor.offset = extent(item.at("offset"));
    capture_.tensors.push_back(std::move(tensor));
  }

  void add_input(const Json& item) {
    Input input;
    input.name = item.at("name").get<std::string>();
    input.role = value_of(kInputRoles, item.at("role").get<std::string>(), "role");
    switch (input.role) {
      case Input::Role::kScalar:
        break;
      case Input::Role::kSymbol:
        input.symbol = extent(item.at("symbol"));
        break;
      default:
        input.tensor = tensor_id(item.at("tensor"));
        make(input.tensor);
    }
    capture_.inputs.push_back(std::move(input));
  }

  void add_call(const Json& item) {
    Call call;
    call.op = item.at("op").get<std::string>();
    call.overload = item.at("overload").get<std::string>();
    for (const Json& value : item.at("arguments")) call.arguments.push_back(argument(value));
    for (const Json& output : item.at("outputs")) {
      call.outputs.push_back(output.is_null() ? TensorId{} : tensor_id(output));
    }
    if (item.contains("writes")) call.writes = item.at("writes").get<std::vector<std::uint32_t>>();
    for (const Json& alias : optional(item, "aliases")) {
      call.aliases.push_back({alias.at(0).get<std::uint32_t>(), alias.at(1).get<std::uint32_t>()});
    }
    for (const Json& update : optional(item, "updates")) {
      call.updates.push_back({tensor_id(update.at(0)), update.at(1).get<std::uint32_t>()});
    }
    call.tags = strings(item, "tags");
    for (const Json& module : optional(item, "modules")) {
      call.modules.push_back({module.at(0).get<std::string>(), module.at(1).get<std::string>()});
    }
    for (const Json& user : optional(item, "user_calls")) {
      call.user_calls.push_back({user.at(0).get<std::string>(), user.at(1).get<std::string>()});
    }
    for (const Json& mark : optional(item, "marks")) {
      call.marks.push_back({mark.at("name").get<std::string>(), strings(mark, "tags")});
    }
    if (item.contains("line")) call.line = item.at("line").get<std::string>();
    check_positions(call);
    for_each_input(call, [&](TensorId tensor) { use(tensor); });
    for (const Call::Update& update : call.updates) use(update.tensor);
    for (const TensorId output : call.outputs) {
      if (output.valid()) make(output);
    }
    capture_.calls.push_back(std::move(call));
  }

  /// Every tensor is made once, by an input or a call, before anything reads it.
  void make(TensorId tensor) {
    made_.resize(capture_.tensors.size());
    if (std::exchange(made_[tensor.index], 1) != 0) {
      throw BadDocument("tensor " + capture_.tensor(tensor).name + " is made a second time");
    }
  }
  void use(TensorId tensor) {
    made_.resize(capture_.tensors.size());
    if (made_[tensor.index] == 0) {
      throw BadDocument("tensor " + capture_.tensor(tensor).name + " is read before it is made");
    }
  }

  static void check_positions(const Call& call) {
    for (const std::uint32_t written : call.writes) {
      if (written >= call.arguments.size()) throw BadDocument("writes an argument it has not");
    }
    for (const Call::Alias& alias : call.aliases) {
      if (alias.output >= call.outputs.size() || alias.argument >= call.arguments.size()) {
        throw BadDocument("an alias of what is not there");
      }
    }
    for (const Call::Update& update : call.updates) {
      if (update.output >= call.outputs.size()) throw BadDocument("an update without its output");
    }
  }

  void add_output(const Json& item) {
    Output output;
    if (item.is_object() && item.contains("tensor")) {
      output.tensor = tensor_id(item.at("tensor"));
      use(output.tensor);
    }
    if (item.is_object() && item.contains("symbol")) output.symbol = extent(item.at("symbol"));
    if (item.is_object() && item.contains("scalar")) output.scalar = item.at("scalar").dump();
    capture_.outputs.push_back(std::move(output));
  }

  static const Json& optional(const Json& item, const char* key) {
    static const Json kNone = Json::array();
    return item.contains(key) ? item.at(key) : kNone;
  }

  static std::vector<std::string> strings(const Json& item, const char* key) {
    return optional(item, key).get<std::vector<std::string>>();
  }

  TensorId tensor_id(const Json& value) const {
    if (!value.is_number_unsigned()) throw BadDocument("no tensor " + value.dump());
    const auto index = value.get<std::size_t>();
    if (index >= capture_.tensors.size()) {
      throw BadDocument("no tensor " + std::to_string(index));
    }
    return id_at<TensorId>(index);
  }

  Argument argument(const Json& value) {
    if (value.is_null()) return {Argument::None{}};
    if (value.is_boolean()) return {value.get<bool>()};
    if (value.is_number_integer()) return {value.get<std::int64_t>()};
    if (value.is_number_float()) return {value.get<double>()};
    if (value.is_string()) return {value.get<std::string>()};
    if (value.is_array()) {
      Argument::List list;
      for (const Json& item : value) list.push_back(argument(item));
      return {std::move(list)};
    }
    return tagged(value);
  }

  Argument tagged(const Json& value) {
    if (value.size() != 1) throw BadDocument("an argument object has one key: " + value.dump());
    const std::string& key = value.begin().key();
    const Json& content = value.begin().value();
    if (key == "t") return {tensor_id(content)};
    if (key == "e") return {extent(content)};
    if (key == "float") return {special(content.get<std::string>())};
    const auto what = value_of(kTokens, key, "argument");
    if (what != Token::What::kComplex) return {Token{what, content.get<std::string>()}};
    if (!content.is_array() || content.size() != 2) {
      throw BadDocument("no complex number: " + content.dump());
    }
    return {Token{what, content.dump()}};
  }

  static double special(const std::string& text) {
    if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
    const double infinity = std::numeric_limits<double>::infinity();
    if (text == "inf") return infinity;
    if (text == "-inf") return -infinity;
    throw BadDocument("no number '" + text + "'");
  }

  Extent extent(const Json& value) {
    if (value.is_number_integer()) return value.get<std::int64_t>();
    if (value.is_string()) return symbol(value.get<std::string>());
    if (!value.is_array() || value.size() < 2) throw BadDocument("no size: " + value.dump());
    const auto function = value.at(0).get<std::string>();
    Extent result = extent(value.at(1));
    if (function == "pow") return power(result, value.at(2).get<std::int64_t>());
    for (std::size_t i = 2; i < value.size(); ++i) {
      result = combine(function, result, extent(value.at(i)));
    }
    return result;
  }

  Extent symbol(const std::string& name) const {
    const auto at = by_name_.find(name);
    if (at == by_name_.end()) throw BadDocument("no symbol '" + name + "'");
    return Extent(at->second);
  }

  static Extent power(const Extent& base, std::int64_t exponent) {
    if (exponent < 0 || exponent > kMostFactors) throw BadDocument("a power of no size");
    Extent result = 1;
    for (std::int64_t i = 0; i < exponent; ++i) result = result * base;
    return result;
  }

  Extent combine(const std::string& function, const Extent& a, const Extent& b) {
    if (function == "add") return a + b;
    if (function == "mul") return a * b;
    if (function == "ceildiv") {
      return derived(Symbol::Function::kFloorDiv, a + b + Extent(-1), b, "floordiv");
    }
    return derived(value_of(kFunctions, function, "size function"), a, b, function);
  }

  /// The symbol that stands for function(a, b): one for each, however often it is written.
  Extent derived(Symbol::Function function, const Extent& a, const Extent& b,
                 const std::string& name) {
    const std::vector<std::string> names = capture_.symbol_names();
    const std::string text = name + "(" + to_string(a, names) + ", " + to_string(b, names) + ")";
    if (const auto at = by_name_.find(text); at != by_name_.end()) return Extent(at->second);
    const auto id = id_at<SymbolId>(capture_.symbols.size());
    capture_.symbols.push_back({text, Symbol::Role::kDerived, function, {a, b}});
    by_name_[text] = id;
    return Extent(id);
  }

  Capture capture_;
  std::vector<char> made_;  ///< per tensor
  std::unordered_map<std::string, SymbolId> by_name_;
  std::string place_;
};

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

Result<Capture> from_json(std::string_view text) {
  Reader reader;
  const auto refuse = [&](const std::string& what) {
    return Unexpected(Error(Diagnostic{kBadCapture, what, "capture document, " + reader.place(),
                                       "write it with to_json or the Python front end"}));
  };
  try {
    return reader.read(Json::parse(text));
  } catch (const BadDocument& bad) {
    return refuse(bad.what());
  } catch (const Json::exception& bad) {
    return refuse(bad.what());
  }
}

std::string to_json(const Capture& capture) { return Writer(capture).write(); }

}  // namespace dynaflow::capture
