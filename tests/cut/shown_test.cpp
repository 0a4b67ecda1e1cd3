#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cut/check.h"
#include "support/sketch.h"

namespace dynaflow::cut {
namespace {

using capture::TensorId;
using rows::Sketch;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A linear layer of [batch, 4, 8] as PyTorch computes it: a product of matrices between views.
struct Layer : Sketch {
  TensorId linear(TensorId of, const std::string& module) {
    const auto from = [&](TensorId made) {
      last().modules = {{module, "Linear"}};
      return made;
    };
    bias = weight({8});
    matrix = weight({8, 8});
    const TensorId flat = from(view("aten::view", {of, {B * 4, 8}}, {B * 4, 8}));
    const TensorId turned = from(view("aten::t", {matrix}, {8, 8}));
    product = from(call("aten::addmm", {bias, flat, turned, 1, 1}, {B * 4, 8}));
    return from(view("aten::view", {product, {B, 4, 8}}, {B, 4, 8}));
  }
  [[nodiscard]] Cut cut() const { return make_cut(rows(), {{Rule::Selects::kModule, {"Linear"}}}); }

  TensorId x = input({B, 4, 8});
  TensorId bias;
  TensorId matrix;
  TensorId product;
};

TEST(Shown, IsTheShapeThatTheLayerWasAskedFor) {
  Layer s;
  const TensorId result = s.linear(s.x, "a");
  s.give_back(s.call("aten::relu", {result}, {s.B, 4, 8}));
  EXPECT_EQ(s.cut().shown[s.product.index], result);
  EXPECT_THAT(to_string(s.cut()), HasSubstr("f32[batch, 4, 8])"));
}

TEST(Shown, IsTheTensorItselfWhereUsersDiffer) {
  Layer s;
  s.give_back(s.linear(s.x, "a"));
  s.give_back(s.call("aten::relu", {s.product}, {s.B * 4, 8}));
  EXPECT_EQ(s.cut().shown[s.product.index], s.product);
}

TEST(Shown, IsNoViewOfTheReaders) {
  Layer s;
  const TensorId made = s.call("aten::relu", {s.x}, {s.B, 4, 8});
  s.give_back(s.linear(made, "a"));
  EXPECT_EQ(s.cut().shown[made.index], made);
  EXPECT_EQ(s.cut().shown[s.x.index], s.x);
}

TEST(Reads, AreWhatIsComputedThenWhatTheModelHolds) {
  Layer s;
  s.give_back(s.linear(s.x, "a"));
  const Cut cut = s.cut();
  EXPECT_THAT(region_named(cut, "a").reads, ElementsAre(s.x, s.bias, s.matrix));
}

}  // namespace
}  // namespace dynaflow::cut
