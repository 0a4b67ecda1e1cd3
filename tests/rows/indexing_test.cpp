#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/sketch.h"

namespace dynaflow::rows {
namespace {

using capture::TensorId;
using testing::StartsWith;

constexpr DType kI64 = DType::kI64;

TEST(Index, OfAWholeTableByRowsIsRowWise) {
  Sketch s;
  const auto ids = s.input({s.B, s.S}, kI64);
  const auto table = s.weight({64, 8});
  EXPECT_EQ(s.answer(s.call("aten::embedding", {table, ids}, {s.B, s.S, 8})), "row-wise, split 0");
  EXPECT_EQ(s.answer(s.call("aten::index.Tensor", {table, {ids}}, {s.B, s.S, 8})),
            "row-wise, split 0");
}

TEST(Index, OfAnotherDimensionKeepsTheBatchBesideTheIndex) {
  Sketch s;
  const auto x = s.input({s.B, 16, 8});
  const auto at = s.weight({3, 2}, kI64);
  EXPECT_EQ(s.answer(s.call("aten::index.Tensor", {x, {nullptr, at}}, {s.B, 3, 2, 8})),
            "row-wise, split 0");
  const auto y = s.input({16, s.B, 4}, DType::kF32);
  EXPECT_EQ(s.answer(s.call("aten::index.Tensor", {y, {at, nullptr, at}}, {3, 2, s.B})),
            "row-wise, split 2");
}

TEST(Index, OfRowsByContentsIsCoupled) {
  Sketch s;
  const auto x = s.input({s.B, 8});
  const auto ids = s.input({s.B}, kI64);
  EXPECT_EQ(s.answer(s.call("aten::index.Tensor", {x, {ids}}, {s.B, 8})), "merged, coupled");
}

TEST(Index, OfRowsByAMaskNeedsAllRows) {
  Sketch s;
  const auto x = s.input({s.B, 8});
  const auto mask = s.input({s.B}, DType::kBool);
  EXPECT_EQ(s.answer(s.call("aten::index.Tensor", {x, {mask}}, {s.S, 8})), "merged, whole");
}

TEST(Index, OfRowsByWholeNumbersNeedsAllRows) {
  Sketch s;
  const auto x = s.input({s.B, 8});
  const auto y = s.call("aten::index.Tensor", {x, {s.weight({3}, kI64)}}, {3, 8});
  EXPECT_EQ(s.answer(y), "merged, whole");
}

TEST(Gather, AlongAnotherDimensionIsRowWise) {
  Sketch s;
  const auto x = s.input({s.B, 8});
  const auto ids = s.input({s.B, 2}, kI64);
  EXPECT_EQ(s.answer(s.call("aten::gather", {x, 1, ids}, {s.B, 2})), "row-wise, split 0");
  EXPECT_EQ(s.answer(s.call("aten::gather", {x, 0, ids}, {s.B, 2})), "merged, coupled");
}

TEST(Gather, OfAWholeTensorPairedWithRowsIsCoupled) {
  Sketch s;
  const auto ids = s.input({s.B, 2}, kI64);
  const auto y = s.call("aten::gather", {s.weight({512, 8}), 1, ids}, {s.B, 2});
  EXPECT_EQ(s.answer(y), "merged, coupled");
}

TEST(Scatter, AlongAnotherDimensionIsRowWise) {
  Sketch s;
  const auto zeros = s.call("aten::zeros", {{s.B, 8}}, {s.B, 8});
  const auto ids = s.input({s.B, 2}, kI64);
  EXPECT_EQ(s.answer(s.call("aten::scatter.value", {zeros, 1, ids, 1}, {s.B, 8})),
            "row-wise, split 0");
  EXPECT_EQ(s.answer(s.call("aten::scatter.value", {zeros, 0, ids, 1}, {s.B, 8})),
            "merged, coupled");
}

TEST(IndexCopy, IntoACacheOfRowsIsRowWise) {
  Sketch s;
  const auto cache = s.input({s.B, 2, 16, 8});
  const auto key = s.input({s.B, 2, 1, 8});
  const auto at = s.weight({1}, kI64);
  const auto updated = s.call("aten::index_copy", {cache, 2, at, key}, {s.B, 2, 16, 8});
  EXPECT_EQ(s.answer(updated), "row-wise, split 0");
  const auto back = s.call("aten::copy_", {cache, updated, false}, {s.B, 2, 16, 8});
  s.last().writes = {0};
  EXPECT_EQ(s.answer(back), "row-wise, split 0");
}

TEST(IndexPut, OfValuesWithoutRowsIsTheSameForAll) {
  Sketch s;
  const auto x = s.input({s.B, 16});
  const auto at = s.weight({2}, kI64);
  const auto y = s.call("aten::index_put", {x, {nullptr, at}, s.weight({2}), false}, {s.B, 16});
  EXPECT_EQ(s.answer(y), "row-wise, split 0");
}

TEST(IndexPut, OfOneNumberByAMaskOfTheRowsIsRowWise) {
  Sketch s;
  const auto x = s.input({s.B, 16, 8});
  const auto mask = s.input({s.B, 16}, DType::kBool);
  const auto fill = [&](TensorId target, TensorId by, TensorId value) {
    return s.answer(s.call("aten::index_put", {target, {by}, value, false}, {s.B, 16, 8}));
  };
  EXPECT_EQ(fill(x, mask, s.weight({})), "row-wise, split 0");
  EXPECT_THAT(fill(x, mask, s.weight({5})), StartsWith("merged"));  // as many as there are true
}

TEST(IndexPut, OfRowsToAWholeTensorNeedsAllRows) {
  Sketch s;
  const auto ids = s.input({s.B}, kI64);
  const auto y = s.call("aten::index_put", {s.weight({64}), {ids}, s.input({s.B}), true}, {64});
  EXPECT_EQ(s.answer(y), "merged, whole");
}

TEST(SliceScatter, IntoAnotherDimensionIsRowWise) {
  Sketch s;
  const auto x = s.input({s.B, 16});
  const auto y = s.call("aten::slice_scatter", {x, s.input({s.B, 4}), 1, 0, 4, 1}, {s.B, 16});
  EXPECT_EQ(s.answer(y), "row-wise, split 0");
}

TEST(Copy, OfRowsIntoAWholeTensorNeedsAllRows) {
  Sketch s;
  const auto x = s.input({s.B});
  const auto count = s.call("aten::sum", {x}, {});
  const auto y = s.call("aten::copy_", {s.weight({}), count, false}, {});
  s.last().writes = {0};
  EXPECT_EQ(s.answer(y), "once, whole");
}

}  // namespace
}  // namespace dynaflow::rows
