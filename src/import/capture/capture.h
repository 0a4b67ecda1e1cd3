#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "dynaflow/base/id.h"
#include "dynaflow/base/result.h"
#include "dynaflow/graph/extent.h"
#include "dynaflow/graph/type.h"

/// What a framework handed over: the calls of a traced model in program order, over tensors whose
/// sizes are polynomials in symbols. Everything that follows (how values carry the batch, the cut,
/// the bodies) is derived from it. Saved and loaded as JSON (json.h), so that a real model's
/// Capture is test data.
namespace dynaflow::capture {

struct TensorTag {};
using TensorId = Id<TensorTag>;
struct CallTag {};
using CallId = Id<CallTag>;

/// A size that is not known at capture.
struct Symbol {
  enum class Role : std::uint8_t {
    kBatch,    ///< the batch's rows
    kSize,     ///< another size, given with every run (a sequence length)
    kDerived,  ///< computed from other sizes by something no polynomial can say
    kData,     ///< known only after a call ran (the length of a nonzero)
  };
  enum class Function : std::uint8_t { kNone, kFloorDiv, kMod, kMax, kMin };

  std::string name;
  Role role = Role::kSize;
  Function function = Function::kNone;  ///< derived ones
  std::vector<Extent> arguments = {};   ///< derived ones: two, over symbols with a lower id
};

/// A tensor as the trace saw it.
struct Tensor {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<Extent> sizes;
  std::vector<Extent> strides;  ///< in elements
  Extent offset = 0;            ///< into its storage, in elements
};

/// How many elements it has.
[[nodiscard]] Extent elements(const Tensor& tensor);
/// Whether they follow each other without gaps, the last dimension's first.
[[nodiscard]] bool is_dense(const Tensor& tensor);

/// A constant that only the framework understands: a dtype, device, layout or memory format.
struct Token {
  enum class What : std::uint8_t { kDType, kDevice, kLayout, kMemoryFormat, kComplex };

  What what = What::kDType;
  std::string text;

  friend bool operator==(const Token&, const Token&) = default;
};

/// One argument of a call.
struct Argument {
  using List = std::vector<Argument>;
  struct None {
    friend bool operator==(None, None) = default;
  };

  std::variant<None, bool, std::int64_t, double, std::string, TensorId, Extent, Token, List> value;

  [[nodiscard]] bool is_none() const { return std::holds_alternative<None>(value); }
  /// The tensor, where it is one.
  [[nodiscard]] std::optional<TensorId> tensor() const;
  /// The size, where it is an integer or a polynomial.
  [[nodiscard]] std::optional<Extent> size() const;
  /// The integer, where it is a constant one.
  [[nodiscard]] std::optional<std::int64_t> integer() const;
  [[nodiscard]] std::optional<bool> boolean() const;
  /// The list's items; of anything else, none.
  [[nodiscard]] const List& list() const;

  friend bool operator==(const Argument&, const Argument&) = default;
};

/// Calls f(TensorId) for every tensor in an argument, lists included.
template <class F>
void for_each_tensor(const Argument& argument, const F& f) {
  if (const auto tensor = argument.tensor()) f(*tensor);
  for (const Argument& item : argument.list()) for_each_tensor(item, f);
}

/// A module the call was made in, outermost first.
struct Module {
  std::string path;
  std::string type;

  friend bool operator==(const Module&, const Module&) = default;
};

/// A call of a function that the user's code made and this call came from, outermost first.
struct UserCall {
  std::string function;  ///< "scaled_dot_product_attention"
  std::string id;        ///< the same for all that came from one call; empty: not known

  friend bool operator==(const UserCall&, const UserCall&) = default;
};

struct Mark {
  std::string name;
  std::vector<std::string> tags;

  friend bool operator==(const Mark&, const Mark&) = default;
};

/// One call of a framework's operator, with every argument of its schema in order.
struct Call {
  /// Output `output` shares the memory of argument `argument`.
  struct Alias {
    std::uint32_t output = 0;
    std::uint32_t argument = 0;

    friend bool operator==(const Alias&, const Alias&) = default;
  };
  /// Output `output` is what `tensor` is after the call wrote to it.
  struct Update {
    TensorId tensor;
    std::uint32_t output = 0;

    friend bool operator==(const Update&, const Update&) = default;
  };

  std::string op;        ///< "aten::mm"
  std::string overload;  ///< "" for the default
  std::vector<Argument> arguments;
  std::vector<TensorId> outputs;           ///< flattened; invalid for those that are no tensor
  std::vector<std::uint32_t> writes = {};  ///< arguments that the call writes to
  std::vector<Alias> aliases = {};
  std::vector<Update> updates = {};
  std::vector<std::string> tags = {};  ///< the framework's own: "nondeterministic_seeded"
  std::vector<Module> modules = {};
  std::vector<UserCall> user_calls = {};
  std::vector<Mark> marks = {};
  std::string line = {};  ///< where in the model

  [[nodiscard]] bool has_tag(std::string_view tag) const;
  [[nodiscard]] bool writes_argument(std::uint32_t argument) const;
  /// "aten::add.Tensor".
  [[nodiscard]] std::string name() const;
};

template <class F>
void for_each_input(const Call& call, const F& f) {
  for (const Argument& argument : call.arguments) for_each_tensor(argument, f);
}

/// What the framework passes in at every run.
struct Input {
  enum class Role : std::uint8_t { kArgument, kParameter, kBuffer, kConstant, kSymbol, kScalar };

  std::string name;  ///< as the user knows it: "input_ids", "layers.0.mlp.up.weight"
  Role role = Role::kArgument;
  TensorId tensor = {};  ///< invalid for symbols and scalars
  Extent symbol = 0;     ///< symbols
};

/// What the framework gets back: a tensor, a size, or nothing we compute.
struct Output {
  TensorId tensor = {};
  std::optional<Extent> symbol = {};
  std::string scalar = {};  ///< a constant, as JSON
};

struct Capture {
  std::string name;
  std::vector<Symbol> symbols;
  std::vector<Tensor> tensors;
  std::vector<Input> inputs;
  std::vector<Call> calls;
  std::vector<Output> outputs;

  [[nodiscard]] const Tensor& tensor(TensorId id) const { return tensors[id.index]; }
  [[nodiscard]] const Call& call(CallId id) const { return calls[id.index]; }
  /// The batch's symbol; invalid where nothing carries a batch.
  [[nodiscard]] SymbolId batch() const;
  [[nodiscard]] std::vector<std::string> symbol_names() const;
  /// The same for people: the batch is called so.
  [[nodiscard]] std::vector<std::string> spoken_names() const;
  /// Computes the derived symbols' values from the others'; `values` has one per symbol.
  void complete(std::vector<std::int64_t>& values) const;
  /// Whether a symbol, or a size, changes with `other`: itself or through derived symbols.
  [[nodiscard]] bool depends_on(SymbolId symbol, SymbolId other) const;
  [[nodiscard]] bool depends_on(const Extent& size, SymbolId other) const;
  /// Whether a size is known only after a call ran.
  [[nodiscard]] bool depends_on_data(const Extent& size) const;
};

/// One line per call: outputs, op, arguments; with types.
[[nodiscard]] std::string to_string(const Capture& capture);
[[nodiscard]] std::string to_string(const Capture& capture, const Call& call);
[[nodiscard]] std::string to_string(const Capture& capture, const Tensor& tensor);

}  // namespace dynaflow::capture
