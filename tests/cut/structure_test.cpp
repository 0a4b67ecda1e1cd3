#include "import/cut/structure.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "cut/check.h"
#include "support/sketch.h"

namespace dynaflow::cut {
namespace {

using capture::Argument;
using capture::TensorId;
using capture::Token;
using rows::Sketch;

/// Two modules of the same two calls; the second may be made to differ.
struct Pair : Sketch {
  Pair() {
    for (int i = 0; i < 2; ++i) {
      const capture::Module module{"part." + std::to_string(i), "Part"};
      const auto in = [&] { last().modules = {module}; };
      const Region_ now{input({B, 8}), weight({8})};
      const auto scaled = call(
          "my::scale", {now.x, now.w, 2, 0.5, true, "mean", {1, nullptr}, B * 3, nullptr}, {B, 8});
      in();
      const auto half = view("aten::slice.Tensor", {scaled, 1, 0, 4, 1}, {B, 4});
      tensor(half).strides = {8, 1};
      in();
      const auto out = call("aten::add.Tensor", {half, half, 1}, {B, 4});
      in();
      give_back(out);
      regions.push_back({now.x, now.w, scaled, half, out});
    }
  }

  struct Region_ {  // NOLINT: Region is the cut's
    TensorId x, w, scaled = {}, half = {}, out = {};
  };

  [[nodiscard]] std::uint32_t bodies(const std::function<void(capture::Capture&)>& change) const {
    capture::Capture changed = capture();
    change(changed);
    const Rule parts{Rule::Selects::kModule, {"Part"}};
    return make_cut(rows::find_rows(changed, {.row_wise = {"my::scale"}}), {parts}).bodies;
  }

  std::vector<Region_> regions;
};

/// How many distinct bodies there are when the second module's calls are changed like this.
std::uint32_t bodies_with(const std::function<void(capture::Capture&, const Pair&)>& change) {
  const Pair pair;
  return pair.bodies([&](capture::Capture& capture) { change(capture, pair); });
}

/// … when an argument of its first call is another.
std::uint32_t bodies_with_argument(std::size_t i, const Argument& argument) {
  return bodies_with([&](auto& capture, auto&) { capture.calls[3].arguments[i] = argument; });
}

TEST(EqualRegions, ShareABody) {
  EXPECT_EQ(bodies_with([](auto&, auto&) {}), 1U);
}

TEST(EqualRegions, ShareABodyWhateverTheirNames) {
  EXPECT_EQ(bodies_with([](auto& capture, auto&) {
              for (auto& tensor : capture.tensors) tensor.name = "other_" + tensor.name;
              capture.calls[3].line = "elsewhere.py:1";
              capture.calls[3].user_calls = {{"other", ""}};
            }),
            1U);
}

TEST(EqualRegions, ShareABodyWhateverLiesBetweenTheirTensors) {
  EXPECT_EQ(bodies_with([](auto& capture, auto&) {
              capture.tensors.push_back(capture.tensors[0]);
              capture.inputs.insert(
                  capture.inputs.begin(),
                  {.name = "unused",
                   .tensor = TensorId{static_cast<std::uint32_t>(capture.tensors.size() - 1)}});
            }),
            1U);
}

TEST(Structure, KnowsTheOperator) {
  EXPECT_EQ(bodies_with([](auto& capture, auto&) { capture.calls[5].op = "aten::sub"; }), 2U);
}

TEST(Structure, KnowsTheOverload) {
  EXPECT_EQ(bodies_with([](auto& capture, auto&) { capture.calls[5].overload = "Scalar"; }), 2U);
}

TEST(Structure, KnowsEveryConstant) {
  EXPECT_EQ(bodies_with_argument(2, {std::int64_t{3}}), 2U);
  EXPECT_EQ(bodies_with_argument(3, {0.25}), 2U);
  EXPECT_EQ(bodies_with_argument(4, {false}), 2U);
  EXPECT_EQ(bodies_with_argument(5, {std::string("sum")}), 2U);
  EXPECT_EQ(bodies_with_argument(7, {Extent(SymbolId{0}) * 4}), 2U);
}

TEST(Structure, KnowsTheLastBitOfANumber) {
  EXPECT_EQ(bodies_with_argument(3, {0.5 + std::numeric_limits<double>::epsilon()}), 2U);
}

TEST(Structure, KnowsAnIntegerFromANumber) { EXPECT_EQ(bodies_with_argument(2, {2.0}), 2U); }

TEST(Structure, KnowsListsFromTheirItems) {
  EXPECT_EQ(bodies_with_argument(6, {Argument::List{{std::int64_t{1}}}}), 2U);
  EXPECT_EQ(bodies_with_argument(6, {Argument::List{{std::int64_t{2}}, {Argument::None{}}}}), 2U);
  EXPECT_EQ(bodies_with_argument(6, {std::int64_t{1}}), 2U);
}

TEST(Structure, KnowsWhatTheFrameworkUnderstands) {
  EXPECT_EQ(bodies_with_argument(8, {Token{Token::What::kDType, "f16"}}), 2U);
  EXPECT_EQ(bodies_with_argument(8, {std::string("none")}), 2U);
}

TEST(Structure, KnowsTypes) {
  EXPECT_EQ(bodies_with([](auto& capture, auto& pair) {
              capture.tensors[pair.regions[1].w.index].dtype = DType::kF64;
            }),
            2U);
}

TEST(Structure, KnowsSizes) {
  EXPECT_EQ(bodies_with([](auto& capture, auto& pair) {
              capture.tensors[pair.regions[1].w.index].sizes = {Extent(16)};
            }),
            2U);
}

TEST(Structure, KnowsStridesOfOperandsAndOfViewsInside) {
  EXPECT_EQ(bodies_with([](auto& capture, auto& pair) {
              capture.tensors[pair.regions[1].x.index].strides = {Extent(1), Extent(SymbolId{0})};
            }),
            2U);
  EXPECT_EQ(bodies_with([](auto& capture, auto& pair) {
              capture.tensors[pair.regions[1].half.index].strides = {Extent(4), Extent(1)};
            }),
            2U);
}

TEST(Structure, KnowsOffsets) {
  EXPECT_EQ(bodies_with([](auto& capture, auto& pair) {
              capture.tensors[pair.regions[1].half.index].offset = 4;
            }),
            2U);
}

TEST(Structure, KnowsHowCallsAreConnected) {
  EXPECT_EQ(bodies_with([](auto& capture, auto& pair) {
              capture.calls[5].arguments[1] = {pair.regions[1].x};
              capture.tensors[pair.regions[1].x.index].sizes[1] = 4;
              capture.tensors[pair.regions[0].x.index].sizes[1] = 4;
            }),
            2U);
}

TEST(Structure, KnowsWhatLeaves) {
  EXPECT_EQ(bodies_with([](auto& capture, auto& pair) {
              capture.outputs.push_back({.tensor = pair.regions[1].scaled});
            }),
            2U);
}

TEST(Structure, KnowsHowTensorsCarryTheBatch) {
  EXPECT_EQ(bodies_with([](auto& capture, auto& pair) {
              capture.tensors[pair.regions[1].w.index].sizes = {Extent(SymbolId{0}), Extent(8)};
              capture.tensors[pair.regions[1].w.index].strides = {Extent(8), Extent(1)};
            }),
            2U);
}

TEST(Structure, KnowsWhatRunsOnce) {
  const Pair pair;
  const rows::Rows rows = rows::find_rows(pair.capture(), {.row_wise = {"my::scale"}});
  Cut cut = make_cut(rows, {{Rule::Selects::kModule, {"Part"}}});
  const std::string per_rows = structure_of(cut, cut.regions[0]);
  cut.regions[0].runs = RunsPer::kBatch;
  EXPECT_NE(structure_of(cut, cut.regions[0]), per_rows);
}

}  // namespace
}  // namespace dynaflow::cut
