#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/sketch.h"

namespace dynaflow::rows {
namespace {

TEST(Inputs, WithTheBatchInTwoDimensionsAreCoupled) {
  Sketch s;
  const auto x = s.input({s.B, s.B});
  EXPECT_EQ(s.answer(s.call("aten::relu", {x}, {s.B, s.B})), "merged, coupled");
}

TEST(Inputs, OfFlattenedTokensHoldTheBatchOutermost) {
  Sketch s;
  const auto x = s.input({s.B * s.S, 8});
  EXPECT_EQ(s.answer(s.call("aten::view", {x, {s.B, s.S, 8}}, {s.B, s.S, 8})), "row-wise, split 0");
}

TEST(Pointwise, BroadcastsWholeTensors) {
  Sketch s;
  const auto x = s.input({s.B, 8});
  EXPECT_EQ(s.answer(s.call("aten::add.Tensor", {x, s.weight({8})}, {s.B, 8})),
            "row-wise, split 0");
}

TEST(Pointwise, OfRowsAgainstRowsIsCoupled) {
  Sketch s;
  const auto x = s.input({s.B, 1});
  const auto y = s.call("aten::t", {x}, {1, s.B});
  EXPECT_EQ(s.answer(s.call("aten::sub.Tensor", {x, y}, {s.B, s.B})), "merged, coupled");
}

TEST(Pointwise, OfTheBatchHeldDifferentlyIsCoupled) {
  Sketch s;
  const auto x = s.input({s.B, 8});
  const auto inner = s.call("aten::view", {s.input({s.B, 2, 8}), {s.B * 2, 8}}, {s.B * 2, 8});
  const auto outer = s.call("aten::cat", {{x, x}, 0}, {s.B * 2, 8});
  EXPECT_EQ(s.answer(s.call("aten::add.Tensor", {inner, outer}, {s.B * 2, 8})), "merged, coupled");
}

TEST(Pointwise, WithTheBatchsSizeNeedsTheWholeBatchButKeepsRows) {
  Sketch s;
  const auto y = s.call("aten::div.Tensor", {s.input({s.B, 8}), s.B}, {s.B, 8});
  EXPECT_EQ(s.answer(y), "merged, split 0");
}

TEST(Reductions, OverOtherDimensionsKeepTheBatch) {
  Sketch s;
  const auto x = s.input({s.S, s.B, 8});
  EXPECT_EQ(s.answer(s.call("aten::mean.dim", {x, {0, -1}, false}, {s.B})), "row-wise, split 0");
  EXPECT_EQ(s.answer(s.call("aten::mean.dim", {x, {0}, true}, {1, s.B, 8})), "row-wise, split 1");
}

TEST(Reductions, SumsOverTheBatchArePartial) {
  Sketch s;
  const auto x = s.input({s.B, 8});
  const auto y = s.call("aten::sum.dim_IntList", {x, {0}, false}, {8});
  EXPECT_EQ(s.answer(y), "row-wise, partial");
  EXPECT_EQ(s.answer(s.call("aten::relu", {y}, {8})), "once, whole");
}

TEST(Reductions, MeansOverTheBatchNeedAllOfItAndAreWholeThen) {
  Sketch s;
  const auto x = s.input({s.B, 8});
  const auto mean = s.call("aten::mean.dim", {x, {0}, true}, {1, 8});
  EXPECT_EQ(s.answer(mean), "merged, whole");
  EXPECT_EQ(s.answer(s.call("aten::sub.Tensor", {x, mean}, {s.B, 8})), "row-wise, split 0");
}

TEST(Along, TheBatchIsCoupledAndAlongOthersIsNot) {
  Sketch s;
  const auto x = s.input({s.B, 8});
  EXPECT_EQ(s.answer(s.call("aten::_softmax", {x, -1, false}, {s.B, 8})), "row-wise, split 0");
  EXPECT_EQ(s.answer(s.call("aten::_softmax", {x, 0, false}, {s.B, 8})), "merged, coupled");
}

TEST(Leading, NormsKeepRowsOfAllResults) {
  Sketch s;
  const auto x = s.input({s.B, s.S, 8});
  const auto w = s.weight({8});
  const auto y = s.calls("aten::native_layer_norm", {x, {8}, w, w, 1e-5},
                         {{s.B, s.S, 8}, {s.B, s.S, 1}, {s.B, s.S, 1}});
  EXPECT_EQ(s.answer(y[2]), "row-wise, split 0");
}

TEST(Together, ChannelsThatHoldTheBatchAreCoupled) {
  Sketch s;
  const auto x = s.input({4, s.B, 2, 8, 8});
  EXPECT_EQ(s.answer(s.call("aten::channel_shuffle", {x, 2}, {4, s.B, 2, 8, 8})),
            "merged, coupled");
}

TEST(Padding, OfTheBatchIsCoupled) {
  Sketch s;
  const auto x = s.input({s.B, 8});
  EXPECT_EQ(s.answer(s.call("aten::constant_pad_nd", {x, {1, 1}, 0}, {s.B, 10})),
            "row-wise, split 0");
  EXPECT_EQ(s.answer(s.call("aten::constant_pad_nd", {x, {1, 1, 0, 1}, 0}, {s.B + 1, 10})),
            "merged, coupled");
}

TEST(Padding, OfOtherDimensionsIsRowWise) {
  Sketch s;
  const auto x = s.input({4, s.B, 8});
  const auto y = s.call("aten::constant_pad_nd", {x, {1, 1, 0, 0, 2, 0}, 0}, {6, s.B, 10});
  EXPECT_EQ(s.answer(y), "row-wise, split 1");
}

TEST(Padding, OfTheBatchByNothingIsRowWise) {
  Sketch s;
  const auto x = s.input({s.B, 8});
  EXPECT_EQ(s.answer(s.call("aten::constant_pad_nd", {x, {3, 0, 0, 0}, 0}, {s.B, 11})),
            "row-wise, split 0");
}

TEST(Padding, OfTheBatchBySizesIsCoupled) {
  Sketch s;
  const auto x = s.input({s.B, 8});
  EXPECT_EQ(s.answer(s.call("aten::constant_pad_nd", {x, {0, 0, s.S, 0}, 0}, {s.B + s.S, 8})),
            "merged, coupled");
}

TEST(GroupNorm, TakesTheNumberOfRowsFromTheMicrobatch) {
  Sketch s;
  const auto x = s.input({s.B, 4, 8, 8});
  const auto w = s.weight({4});
  const auto y = s.calls("aten::native_group_norm", {x, w, w, s.B, 4, 64, 2, 1e-5},
                         {{s.B, 4, 8, 8}, {s.B, 2}, {s.B, 2}});
  EXPECT_EQ(s.answer(y[0]), "row-wise, split 0");
}

TEST(BatchNorm, InTrainingNeedsAllRowsButKeepsThem) {
  Sketch s;
  const auto x = s.input({s.B, 4, 8, 8});
  const auto w = s.weight({4});
  const auto y = s.calls("aten::native_batch_norm", {x, w, w, w, w, true, 0.1, 1e-5},
                         {{s.B, 4, 8, 8}, {4}, {4}});
  EXPECT_EQ(s.answer(y[0]), "merged, split 0");
  EXPECT_EQ(s.answer(y[1]), "merged, whole");
}

TEST(BatchNorm, InUseIsRowWise) {
  Sketch s;
  const auto x = s.input({s.B, 4, 8, 8});
  const auto w = s.weight({4});
  const auto y = s.calls("aten::native_batch_norm", {x, w, w, w, w, false, 0.1, 1e-5},
                         {{s.B, 4, 8, 8}, {0}, {0}});
  EXPECT_EQ(s.answer(y[0]), "row-wise, split 0");
}

TEST(BatchNorm, OverChannelsOfEachRowIsRowWise) {
  Sketch s;
  const auto x = s.call("aten::view", {s.input({s.B, 4, 8}), {1, s.B * 4, 8}}, {1, s.B * 4, 8});
  const auto y =
      s.calls("aten::_native_batch_norm_legit.no_stats", {x, nullptr, nullptr, true, 0.1, 1e-5},
              {{1, s.B * 4, 8}, {s.B * 4}, {s.B * 4}});
  EXPECT_EQ(s.answer(y[0]), "row-wise, split 1");
  EXPECT_EQ(s.answer(y[1]), "row-wise, split 0");
}

TEST(Products, OfRowsAndWeightsKeepRows) {
  Sketch s;
  const auto x = s.input({s.B, 8});
  const auto w = s.weight({8, 4});
  EXPECT_EQ(s.answer(s.call("aten::mm", {x, w}, {s.B, 4})), "row-wise, split 0");
  EXPECT_EQ(s.answer(s.call("aten::addmm", {s.weight({4}), x, w}, {s.B, 4})), "row-wise, split 0");
}

TEST(Products, OverTheBatchArePartialSums) {
  Sketch s;
  const auto x = s.input({s.B, 8});
  const auto xt = s.call("aten::t", {x}, {8, s.B});
  EXPECT_EQ(s.answer(s.call("aten::mm", {xt, x}, {8, 8})), "row-wise, partial");
}

TEST(Products, OfRowsWithRowsAreCoupled) {
  Sketch s;
  const auto x = s.input({s.B, 8});
  const auto xt = s.call("aten::t", {x}, {8, s.B});
  EXPECT_EQ(s.answer(s.call("aten::mm", {x, xt}, {s.B, s.B})), "merged, coupled");
}

TEST(Products, AddedToASumOverTheBatchNeedAllRows) {
  Sketch s;
  const auto x = s.input({s.B, 8});
  const auto xt = s.call("aten::t", {x}, {8, s.B});
  EXPECT_EQ(s.answer(s.call("aten::addmm", {s.weight({8}), xt, x}, {8, 8})), "merged, whole");
}

TEST(Products, OfBatchesNeedTheBatchHeldTheSameWay) {
  Sketch s;
  const auto q =
      s.call("aten::view", {s.input({s.B, 4, s.S, 8}), {s.B * 4, s.S, 8}}, {s.B * 4, s.S, 8});
  const auto heads_first =
      s.call("aten::transpose.int", {s.input({s.B, 4, 8, s.S}), 0, 1}, {4, s.B, 8, s.S});
  const auto k = s.call("aten::view", {heads_first, {s.B * 4, 8, s.S}}, {s.B * 4, 8, s.S});
  EXPECT_EQ(s.answer(s.call("aten::bmm", {q, k}, {s.B * 4, s.S, s.S})), "merged, coupled");
  const auto same = s.call("aten::transpose.int", {q, 1, 2}, {s.B * 4, 8, s.S});
  EXPECT_EQ(s.answer(s.call("aten::bmm", {q, same}, {s.B * 4, s.S, s.S})), "row-wise, split 0");
}

TEST(Convolution, KeepsRowsInDimensionZeroOnly) {
  Sketch s;
  const auto w = s.weight({4, 3, 3, 3});
  const auto x = s.input({s.B, 3, 8, 8});
  EXPECT_EQ(s.answer(s.call("aten::convolution", {x, w, nullptr}, {s.B, 4, 6, 6})),
            "row-wise, split 0");
  const auto y = s.input({4, 3, s.B, 8});
  EXPECT_EQ(s.answer(s.call("aten::convolution", {y, w, nullptr}, {4, 4, s.B + -2, 6})),
            "merged, coupled");
}

TEST(Attention, IsDrawnOnlyWithDropout) {
  Sketch s;
  const auto q = s.input({s.B, 4, s.S, 8});
  constexpr auto kFlash = "aten::_scaled_dot_product_flash_attention_for_cpu";
  const auto y = s.calls(kFlash, {q, q, q, 0.0, false, nullptr}, {{s.B, 4, s.S, 8}, {s.B, s.S, 4}});
  s.last().tags = {"nondeterministic_seeded"};
  EXPECT_EQ(s.answer(y[1]), "row-wise, split 0");
  const auto z = s.calls(kFlash, {q, q, q, 0.1, false, nullptr}, {{s.B, 4, s.S, 8}, {s.B, s.S, 4}});
  s.last().tags = {"nondeterministic_seeded"};
  EXPECT_EQ(s.answer(z[0]), "drawn, split 0");
}

TEST(Attention, WithAMaskOfAllRowsIsCoupled) {
  Sketch s;
  const auto q = s.input({s.B, 4, s.S, 8});
  const auto mask =
      s.call("aten::transpose.int", {s.input({s.B, 1, 1, s.S}), 0, 2}, {1, 1, s.B, s.S});
  const auto y = s.call("aten::_scaled_dot_product_flash_attention_for_cpu",
                        {q, q, q, 0.0, false, mask}, {s.B, 4, s.S, 8});
  EXPECT_EQ(s.answer(y), "merged, coupled");
}

TEST(Collectives, GatherRowsRankByRank) {
  Sketch s;
  const auto x = s.input({s.B, 8});
  const auto y = s.call("_c10d_functional::all_gather_into_tensor", {x, 2, "0"}, {s.B * 2, 8});
  EXPECT_EQ(s.answer(y), "row-wise, split 0 in 2");
  const auto z = s.call("_c10d_functional::wait_tensor", {y}, {s.B * 2, 8});
  const auto back = s.call("_c10d_functional::reduce_scatter_tensor", {z, "sum", 2, "0"}, {s.B, 8});
  EXPECT_EQ(s.answer(back), "row-wise, split 0");
}

TEST(Collectives, ThatHandOutTheBatchsRowsAreCoupled) {
  Sketch s;
  const auto x = s.input({s.B * 2, 8});
  const auto y = s.call("_c10d_functional::reduce_scatter_tensor", {x, "sum", 2, "0"}, {s.B, 8});
  EXPECT_EQ(s.answer(y), "merged, coupled");
}

TEST(Factories, MakeTheirOwnRowsOfConstants) {
  Sketch s;
  EXPECT_EQ(s.answer(s.call("aten::full", {{s.B, 8}, 0}, {s.B, 8})), "row-wise, split 0");
  EXPECT_EQ(s.answer(s.call("aten::full", {{s.B, 8}, s.B}, {s.B, 8})), "once, split 0");
  EXPECT_EQ(s.answer(s.call("aten::full", {{8}, s.B}, {8})), "once, whole");
}

TEST(Factories, OfRandomNumbersAreDrawnForTheBatch) {
  Sketch s;
  EXPECT_EQ(s.answer(s.call("aten::randn", {{s.B, 8}}, {s.B, 8})), "drawn, split 0");
  EXPECT_EQ(s.answer(s.call("aten::randn", {{8}}, {8})), "drawn, whole");
}

TEST(Dropout, IsDrawnAndKeepsRows) {
  Sketch s;
  const auto x = s.input({s.S, s.B, 8});
  const auto y = s.calls("aten::native_dropout", {x, 0.1, true}, {{s.S, s.B, 8}, {s.S, s.B, 8}});
  s.last().tags = {"nondeterministic_seeded"};
  EXPECT_EQ(s.answer(y[1]), "drawn, split 1");
}

TEST(Unknown, CallsRunMergedAndSoDoesWhatFollows) {
  Sketch s;
  const auto x = s.call("acme::mystery", {s.input({s.B, 8})}, {s.B, 8});
  EXPECT_EQ(s.answer(x), "unknown, coupled");
  const auto y = s.call("aten::relu", {x}, {s.B, 8});
  EXPECT_EQ(s.answer(y), "merged, coupled");
  EXPECT_EQ(s.reason(y), "it is made from t1, since the table does not know acme::mystery");
}

TEST(Unknown, CallsOfWholeTensorsRunOnce) {
  Sketch s;
  EXPECT_EQ(s.answer(s.call("acme::mystery", {s.weight({8})}, {8})), "once, whole");
}

TEST(Declared, CustomOpsAreRowWise) {
  Sketch s;
  const auto y = s.call("acme::rope", {s.input({s.B, 8}), s.weight({8})}, {s.B, 8});
  EXPECT_EQ(s.answer(y, {.row_wise = {"acme::rope"}}), "row-wise, split 0");
}

TEST(Declared, CustomOpsThatAreNotCalledAreNamed) {
  Sketch s;
  s.call("acme::rope", {s.input({s.B, 8})}, {s.B, 8});
  const auto warned = [&](const char* op) {
    return find_rows(s.capture(), {.row_wise = {op}}).warnings;
  };
  EXPECT_THAT(warned("acme::rope"), testing::IsEmpty());
  EXPECT_THAT(warned("acme::rop"),
              testing::ElementsAre("row_wise 'acme::rop' is not called; near: acme::rope"));
}

TEST(Declared, CustomOpsStillNeedTheBatchInDimensionZero) {
  Sketch s;
  const auto y = s.call("acme::rope", {s.input({8, s.B})}, {8, s.B});
  EXPECT_EQ(s.answer(y, {.row_wise = {"acme::rope"}}), "merged, coupled");
}

}  // namespace
}  // namespace dynaflow::rows
