#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "import/rows/rows.h"

namespace dynaflow::rows {

/// A Capture under construction, call by call, with a batch B and a sequence length S.
///
///   Sketch s;
///   const auto x = s.input({s.B, 8});
///   EXPECT_EQ(s.answer(s.call("aten::relu", {x}, {s.B, 8})), "row-wise, split 0");
class Sketch {
 public:
  using Sizes = std::vector<Extent>;

  /// An argument of a call, from whatever a test writes.
  struct Given : capture::Argument {
    Given(capture::TensorId tensor) : Argument{tensor} {}     // NOLINT
    Given(int number) : Argument{std::int64_t{number}} {}     // NOLINT
    Given(bool flag) : Argument{flag} {}                      // NOLINT
    Given(double number) : Argument{number} {}                // NOLINT
    Given(const char* text) : Argument{std::string(text)} {}  // NOLINT
    Given(const Extent& size) : Argument{size} {}             // NOLINT
    Given(std::nullptr_t) : Argument{} {}                     // NOLINT
    Given(std::initializer_list<Given> list)                  // NOLINT
        : Argument{List(list.begin(), list.end())} {}
  };

  const Extent B = Extent(SymbolId{0});  // NOLINT: as sizes are written
  const Extent S = Extent(SymbolId{1});  // NOLINT

  Sketch();

  capture::TensorId input(Sizes sizes, DType dtype = DType::kF32);
  capture::TensorId weight(Sizes sizes, DType dtype = DType::kF32);
  /// "aten::op" or "aten::op.overload" with one result.
  capture::TensorId call(const std::string& name, std::initializer_list<Given> arguments,
                         Sizes sizes, DType dtype = DType::kF32);
  /// The same with several results of the same type.
  std::vector<capture::TensorId> calls(const std::string& name,
                                       std::initializer_list<Given> arguments,
                                       const std::vector<Sizes>& sizes, DType dtype = DType::kF32);
  /// A call whose result looks at the memory of its first argument.
  capture::TensorId view(const std::string& name, std::initializer_list<Given> arguments,
                         Sizes sizes);
  /// A call that writes to its first argument, which it gives back.
  capture::TensorId write(const std::string& name, std::initializer_list<Given> arguments);
  void give_back(capture::TensorId tensor) { capture_.outputs.push_back({.tensor = tensor}); }
  /// The last call, for what no test often needs.
  capture::Call& last() { return capture_.calls.back(); }
  capture::Tensor& tensor(capture::TensorId id) { return capture_.tensors[id.index]; }
  [[nodiscard]] const capture::Capture& capture() const { return capture_; }

  [[nodiscard]] Rows rows(const Declarations& declarations = {}) const {
    return find_rows(capture_, declarations);
  }
  /// How the call that makes `tensor` runs, and how the tensor carries the batch.
  [[nodiscard]] std::string answer(capture::TensorId tensor,
                                   const Declarations& declarations = {}) const;
  [[nodiscard]] std::string reason(capture::TensorId tensor) const;

 private:
  capture::TensorId add(Sizes sizes, DType dtype);

  capture::Capture capture_;
};

[[nodiscard]] std::string name_of(CallRows::Runs runs);

}  // namespace dynaflow::rows
