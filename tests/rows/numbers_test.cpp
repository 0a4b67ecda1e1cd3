#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/sketch.h"

namespace dynaflow::rows {
namespace {

using capture::TensorId;

constexpr DType kI64 = DType::kI64;

struct Numbered : Sketch {
  TensorId numbers = call("aten::arange", {B}, {B}, kI64);
};

std::vector<std::string> ops(const Rows& rows) {
  std::vector<std::string> names;
  for (const capture::Call& call : rows.capture.calls) names.push_back(call.op);
  return names;
}

TEST(RowNumbers, ThatFindRowsAreCountedByEachMicrobatch) {
  Numbered s;
  const auto mask = s.input({s.B, 16});
  const auto column = s.call("aten::unsqueeze", {s.numbers, 1}, {s.B, 1}, kI64);
  const auto at = s.weight({1, 16}, kI64);
  const auto y = s.call("aten::index.Tensor", {mask, {column, at}}, {s.B, 16});
  EXPECT_EQ(s.answer(y), "row-wise, split 0");
  EXPECT_EQ(s.answer(s.numbers), "row-wise, local");
  EXPECT_EQ(s.answer(column), "row-wise, local");
}

TEST(RowNumbers, ShareAGroupWithTheCallThatCounts) {
  Numbered s;
  s.call("aten::index.Tensor", {s.input({s.B, 8}), {s.numbers}}, {s.B, 8});
  const Rows rows = s.rows();
  EXPECT_EQ(rows.calls[0].group, rows.calls[1].group);
  EXPECT_NE(rows.calls[0].group, CallRows::kNoGroup);
}

TEST(RowNumbers, UsedAsDataAreTheBatchs) {
  Numbered s;
  const auto y = s.call("aten::add.Tensor", {s.input({s.B}, kI64), s.numbers}, {s.B}, kI64);
  EXPECT_EQ(s.answer(s.numbers), "once, split 0");
  EXPECT_EQ(s.answer(y), "row-wise, split 0");
}

TEST(RowNumbers, IntoAWholeTableAreTheBatchs) {
  Numbered s;
  const auto y = s.call("aten::index.Tensor", {s.weight({512, 8}), {s.numbers}}, {s.B, 8});
  EXPECT_EQ(s.answer(s.numbers), "once, split 0");
  EXPECT_EQ(s.answer(y), "row-wise, split 0");
}

TEST(RowNumbers, GivenBackAreTheBatchs) {
  Numbered s;
  s.give_back(s.numbers);
  EXPECT_EQ(s.answer(s.numbers), "once, split 0");
}

TEST(RowNumbers, UsedBothWaysAreMadeTwice) {
  Numbered s;
  const auto column = s.call("aten::unsqueeze", {s.numbers, 1}, {s.B, 1}, kI64);
  const auto at = s.weight({1, 16}, kI64);
  const auto y = s.call("aten::index.Tensor", {s.input({s.B, 16}), {column, at}}, {s.B, 16});
  s.give_back(s.call("aten::mul.Tensor", {y, column}, {s.B, 16}));
  EXPECT_THAT(ops(s.rows()), testing::ElementsAre("aten::arange", "aten::unsqueeze", "aten::arange",
                                                  "aten::unsqueeze", "aten::index", "aten::mul"));
  EXPECT_EQ(s.answer(s.numbers), "once, split 0");
  EXPECT_EQ(s.answer(column), "once, split 0");
  EXPECT_EQ(s.answer(y), "row-wise, split 0");
}

TEST(RowNumbers, CountedByTwoCallsAreInTwoGroups) {
  Numbered s;
  const auto x = s.input({s.B, 8});
  s.call("aten::index.Tensor", {x, {s.numbers}}, {s.B, 8});
  s.call("aten::index.Tensor", {x, {s.numbers}}, {s.B, 8});
  const Rows rows = s.rows();
  ASSERT_EQ(rows.calls.size(), 4U);
  EXPECT_EQ(rows.calls[0].group, rows.calls[1].group);
  EXPECT_EQ(rows.calls[2].group, rows.calls[3].group);
  EXPECT_NE(rows.calls[0].group, rows.calls[2].group);
}

TEST(RowNumbers, OfAnotherRowAreNotCounted) {
  Numbered s;
  const auto next = s.call("aten::add.Tensor", {s.numbers, 1}, {s.B}, kI64);
  const auto y = s.call("aten::index.Tensor", {s.input({s.B, 8}), {next}}, {s.B, 8});
  EXPECT_EQ(s.answer(y), "merged, coupled");
}

TEST(RowNumbers, OfTokensFindTokensButNotRows) {
  Sketch s;
  const auto tokens = s.call("aten::arange", {s.B * s.S}, {s.B * s.S}, kI64);
  const auto x = s.input({s.B * s.S, 8});
  const auto y = s.call("aten::index.Tensor", {x, {tokens}}, {s.B * s.S, 8});
  EXPECT_EQ(s.answer(y), "row-wise, split 0");
  const auto z = s.call("aten::index.Tensor", {s.input({s.B, 8}), {tokens}}, {s.B * s.S, 8});
  EXPECT_EQ(s.answer(z), "merged, coupled");
}

TEST(RowNumbers, DividedFindTheRowOfAToken) {
  Sketch s;
  const auto tokens = s.call("aten::arange", {s.B * 6}, {s.B * 6}, kI64);
  const auto rows = s.call("aten::floor_divide", {tokens, 6}, {s.B * 6}, kI64);
  const auto x = s.input({s.B, 8});
  EXPECT_EQ(s.answer(s.call("aten::index.Tensor", {x, {rows}}, {s.B * 6, 8})), "row-wise, split 0");
  const auto straddling = s.call("aten::floor_divide", {tokens, 4}, {s.B * 6}, kI64);
  EXPECT_EQ(s.answer(s.call("aten::index.Tensor", {x, {straddling}}, {s.B * 6, 8})),
            "merged, coupled");
}

TEST(RowNumbers, UsedTwiceByOneCallAreNotCounted) {
  Numbered s;
  const auto x = s.input({s.B, 16});
  const auto y = s.call("aten::index.Tensor", {x, {s.numbers, s.numbers}}, {s.B});
  EXPECT_EQ(s.answer(y), "merged, coupled");
}

TEST(RowNumbers, OfABatchHeldTwiceAreNotCounted) {
  Numbered s;
  const auto x = s.input({s.B, 8});
  const auto twice = s.call("aten::cat", {{x, x}, 0}, {s.B * 2, 8});
  const auto y = s.call("aten::index.Tensor", {twice, {s.numbers}}, {s.B, 8});
  EXPECT_EQ(s.answer(y), "merged, coupled");
}

TEST(RowNumbers, WrittenToAreNotCounted) {
  Numbered s;
  s.call("aten::add_.Tensor", {s.numbers, 1}, {s.B}, kI64);
  s.last().writes = {0};
  s.last().aliases = {{.output = 0, .argument = 0}};
  const auto y = s.call("aten::index.Tensor", {s.input({s.B, 8}), {s.numbers}}, {s.B, 8});
  EXPECT_EQ(s.answer(y), "merged, coupled");
}

TEST(RowNumbers, FindRowsToWriteTo) {
  Numbered s;
  const auto cache = s.input({s.B, 16, 8});
  const auto at = s.input({s.B}, kI64);
  const auto y =
      s.call("aten::index_put", {cache, {s.numbers, at}, s.input({s.B, 8}), false}, {s.B, 16, 8});
  EXPECT_EQ(s.answer(y), "row-wise, split 0");
  EXPECT_EQ(s.answer(s.numbers), "row-wise, local");
}

}  // namespace
}  // namespace dynaflow::rows
