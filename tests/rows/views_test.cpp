#include <gtest/gtest.h>

#include "support/sketch.h"

namespace dynaflow::rows {
namespace {

TEST(Views, MergeTheBatchWithWhatFollowsIt) {
  Sketch s;
  const auto x = s.input({s.B, s.S, 8});
  const auto y = s.call("aten::view", {x, {s.B * s.S, 8}}, {s.B * s.S, 8});
  EXPECT_EQ(s.answer(y), "row-wise, split 0");
}

TEST(Views, RememberWhatVariesSlowerThanTheBatch) {
  Sketch s;
  const auto x = s.call("aten::transpose.int", {s.input({s.B, 3, 8}), 0, 1}, {3, s.B, 8});
  const auto y = s.call("aten::view", {x, {s.B * 3, 8}}, {s.B * 3, 8});
  EXPECT_EQ(s.answer(y), "row-wise, split 0 in 3");
  const auto back = s.call("aten::view", {y, {3, s.B, 8}}, {3, s.B, 8});
  EXPECT_EQ(s.answer(back), "row-wise, split 1");
}

TEST(Views, SplitADimensionThatHoldsTheBatch) {
  Sketch s;
  const auto x = s.input({s.B, 6, 8});
  const auto y = s.call("aten::view", {x, {s.B * 2, 3, 8}}, {s.B * 2, 3, 8});
  EXPECT_EQ(s.answer(y), "row-wise, split 0");
}

TEST(Views, AreCoupledWhereTheyTakeTheBatchApart) {
  Sketch s;
  const auto x = s.call("aten::t", {s.input({s.B, s.S})}, {s.S, s.B});
  const auto y = s.call("aten::view", {x, {s.B, s.S}}, {s.B, s.S});
  EXPECT_EQ(s.answer(y), "merged, coupled");
}

TEST(Views, PutAndDropDimensionsOfOne) {
  Sketch s;
  const auto x = s.call("aten::unsqueeze", {s.input({s.B, 8}), 0}, {1, s.B, 8});
  EXPECT_EQ(s.answer(x), "row-wise, split 1");
  EXPECT_EQ(s.answer(s.call("aten::squeeze.dim", {x, 0}, {s.B, 8})), "row-wise, split 0");
}

TEST(Views, PermuteTheBatchToWhereItIsNamed) {
  Sketch s;
  const auto x = s.input({s.B, s.S, 8});
  EXPECT_EQ(s.answer(s.call("aten::permute", {x, {2, -2, 0}}, {8, s.S, s.B})), "row-wise, split 2");
}

TEST(Expand, SpreadsAWholeTensorOverTheBatch) {
  Sketch s;
  const auto x = s.weight({1, 8});
  EXPECT_EQ(s.answer(s.call("aten::expand", {x, {s.B, -1}}, {s.B, 8})), "row-wise, split 0");
}

TEST(Expand, AddsDimensionsBeforeTheBatch) {
  Sketch s;
  const auto x = s.input({s.B, 1});
  EXPECT_EQ(s.answer(s.call("aten::expand", {x, {4, s.B, 8}}, {4, s.B, 8})), "row-wise, split 1");
}

TEST(Expand, OverTheBatchTwiceIsCoupled) {
  Sketch s;
  const auto x = s.input({s.B, 1});
  EXPECT_EQ(s.answer(s.call("aten::expand", {x, {s.B, s.B}}, {s.B, s.B})), "merged, coupled");
}

TEST(Repeat, OfTheBatchHoldsItSeveralTimes) {
  Sketch s;
  const auto x = s.input({s.B, 8});
  EXPECT_EQ(s.answer(s.call("aten::repeat", {x, {3, 2}}, {s.B * 3, 16})), "row-wise, split 0 in 3");
}

TEST(Cat, AlongTheBatchHoldsItSeveralTimes) {
  Sketch s;
  const auto x = s.input({s.B, 8});
  const auto y = s.call("aten::cat", {{x, x}, 0}, {s.B * 2, 8});
  EXPECT_EQ(s.answer(y), "row-wise, split 0 in 2");
  EXPECT_EQ(s.answer(s.call("aten::view", {y, {2, s.B, 8}}, {2, s.B, 8})), "row-wise, split 1");
}

TEST(Cat, AlongAnotherDimensionNeedsTheBatchInOnePlace) {
  Sketch s;
  const auto x = s.input({s.B, 8});
  EXPECT_EQ(s.answer(s.call("aten::cat", {{x, x}, -1}, {s.B, 16})), "row-wise, split 0");
}

TEST(Cat, OfRowsAndAWholeTensorIsCoupled) {
  Sketch s;
  const auto x = s.input({s.B, 8});
  const auto y = s.call("aten::cat", {{x, s.weight({1, 8})}, 0}, {s.B + 1, 8});
  EXPECT_EQ(s.answer(y), "merged, coupled");
}

TEST(Stack, PutsADimensionBeforeTheBatch) {
  Sketch s;
  const auto x = s.input({s.B, 8});
  EXPECT_EQ(s.answer(s.call("aten::stack", {{x, x}, 0}, {2, s.B, 8})), "row-wise, split 1");
}

TEST(Pieces, OfADoubledBatchAreTheBatchAgain) {
  Sketch s;
  const auto x = s.input({s.B, 8});
  const auto twice = s.call("aten::cat", {{x, x}, 0}, {s.B * 2, 8});
  const auto halves = s.calls("aten::split.Tensor", {twice, s.B, 0}, {{s.B, 8}, {s.B, 8}});
  EXPECT_EQ(s.answer(halves[1]), "row-wise, split 0");
}

TEST(Pieces, OfTheBatchItselfAreCoupled) {
  Sketch s;
  const auto x = s.input({s.B * 2, 8});
  const auto halves = s.calls("aten::split.Tensor", {x, s.B, 0}, {{s.B, 8}, {s.B, 8}});
  EXPECT_EQ(s.answer(halves[0]), "merged, coupled");
}

TEST(Slice, OfAllRowsIsTheSame) {
  Sketch s;
  const auto x = s.input({s.B, 8});
  const auto y = s.call("aten::slice.Tensor", {x, 0, 0, 99, 1}, {s.B, 8});
  EXPECT_EQ(s.answer(y), "row-wise, split 0");
}

TEST(Slice, OfSomeRowsIsCoupled) {
  Sketch s;
  const auto x = s.input({s.B, 8});
  const auto y = s.call("aten::slice.Tensor", {x, 0, 1, 99, 1}, {s.B + Extent(-1), 8});
  EXPECT_EQ(s.answer(y), "merged, coupled");
}

TEST(Slice, OfTheSecondCopyOfTheBatchIsTheBatch) {
  Sketch s;
  const auto x = s.input({s.B, 8});
  const auto twice = s.call("aten::cat", {{x, x}, 0}, {s.B * 2, 8});
  const auto y = s.call("aten::slice.Tensor", {twice, 0, s.B, 99, 1}, {s.B, 8});
  EXPECT_EQ(s.answer(y), "row-wise, split 0");
}

TEST(Slice, OfAWholeTensorByTheBatchIsMadeOnceAndSliced) {
  Sketch s;
  const auto table = s.weight({512, 8});
  const auto y = s.call("aten::slice.Tensor", {table, 0, 0, s.B, 1}, {s.B, 8});
  EXPECT_EQ(s.answer(y), "once, split 0");
}

TEST(Slice, ByTheBatchsSizeInAnotherDimensionNeedsTheWholeBatch) {
  Sketch s;
  const auto x = s.input({s.B, 64});
  const auto y = s.call("aten::slice.Tensor", {x, 1, s.B, s.B + 1, 1}, {s.B, 1});
  EXPECT_EQ(s.answer(y), "merged, split 0");
}

TEST(Select, OfOneRowNeedsAllButIsWhole) {
  Sketch s;
  const auto x = s.input({s.B, 8});
  EXPECT_EQ(s.answer(s.call("aten::select.int", {x, 0, 0}, {8})), "merged, whole");
}

TEST(Select, OfAnotherDimensionKeepsTheBatch) {
  Sketch s;
  const auto x = s.input({s.S, s.B, 8});
  EXPECT_EQ(s.answer(s.call("aten::select.int", {x, 0, -1}, {s.B, 8})), "row-wise, split 0");
}

/// A result of as_strided that has the strides it asks for.
capture::TensorId strided(Sketch& s, capture::TensorId x, const Sketch::Sizes& sizes,
                          const Sketch::Sizes& strides, const Sketch::Given& offset = nullptr) {
  const auto list = [](const Sketch::Sizes& from) {
    capture::Argument::List items;
    for (const Extent& item : from) items.push_back({item});
    return capture::Argument{std::move(items)};
  };
  const auto y = s.call("aten::as_strided", {x}, sizes);
  s.last().arguments.insert(s.last().arguments.end(), {list(sizes), list(strides), offset});
  s.tensor(y).strides = strides;
  return y;
}

TEST(StridedViews, OfEachRowAreRowWise) {
  Sketch s;
  const auto y = strided(s, s.input({s.B, 32, 1}), {s.B, 32, 1, 1}, {32, 1, 32, 32});
  EXPECT_EQ(s.answer(y), "row-wise, split 0");
}

TEST(StridedViews, MayOverlapWithinARow) {
  Sketch s;
  EXPECT_EQ(s.answer(strided(s, s.input({s.B, 8}), {s.B, 3, 4}, {8, 2, 1})), "row-wise, split 0");
}

TEST(StridedViews, ThatReachIntoTheNextRowAreMerged) {
  Sketch s;
  EXPECT_EQ(s.answer(strided(s, s.input({s.B, 8}), {s.B, 3, 5}, {8, 2, 1})), "merged, coupled");
}

TEST(StridedViews, ThatStepOtherwiseThanTheRowsAreMerged) {
  Sketch s;
  EXPECT_EQ(s.answer(strided(s, s.input({s.B, 8}), {s.B, 4}, {4, 1})), "merged, coupled");
}

TEST(StridedViews, FromAnotherPlaceAreMerged) {
  Sketch s;
  EXPECT_EQ(s.answer(strided(s, s.input({s.B, 8}), {s.B, 4}, {8, 1}, 4)), "merged, coupled");
}

TEST(StridedViews, OfRowsThatAreNotOutermostAreMerged) {
  Sketch s;
  const auto x = s.input({s.B, 8});
  s.tensor(x).strides = {1, s.B};
  EXPECT_EQ(s.answer(strided(s, x, {s.B, 8}, {8, 1})), "merged, coupled");
}

TEST(StridedViews, OfRowsWithGapsAreMerged) {
  Sketch s;
  const auto x = s.input({s.B, 8});
  s.tensor(x).strides = {16, 1};
  EXPECT_EQ(s.answer(strided(s, x, {s.B, 16}, {16, 1})), "merged, coupled");
}

}  // namespace
}  // namespace dynaflow::rows
