#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <unordered_map>
#include <utility>

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

constexpr std::int64_t kMostFactors = 64;  // of one size

/// What is wrong with the document, and where.
struct BadDocument : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class Names>
auto value_of(const Names& names, std::string_view text, std::string_view what) {
  for (const auto& name : names) {
    if (name.text == text) return name.value;
  }
  throw BadDocument("unknown " + std::string(what) + " '" + std::string(text) + "'");
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

}  // namespace dynaflow::capture
