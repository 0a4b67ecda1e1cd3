#include <gtest/gtest.h>

#include <algorithm>

#include "support/sketch.h"

namespace dynaflow::rows {
namespace {

using capture::TensorId;

constexpr DType kI64 = DType::kI64;

/// A mixture of four experts, each token going to two, with the calls that transformers makes.
struct Experts : Sketch {
  const Extent tokens = B * S;     // NOLINT
  const Extent pairs = B * S * 2;  // NOLINT
  TensorId x = input({tokens, 8});
  TensorId choice = input({pairs}, kI64);
  TensorId keys;
  TensorId order;
  TensorId x_g;
  TensorId offsets;
  TensorId y_g;

  explicit Experts(int highest = 3) {
    const auto sorted = calls("aten::sort", {choice, -1, false}, {{pairs}, {pairs}}, kI64);
    keys = sorted[0];
    order = sorted[1];
    x_g = take(order);
    const auto as_float = call("aten::_to_copy", {keys}, {pairs});
    const auto counts = call("aten::histc", {as_float, 4, 0, highest}, {4});
    offsets = call("aten::cumsum", {counts, 0}, {4}, DType::kI32);
    y_g = multiply(x_g, offsets);
  }

  TensorId take(TensorId by) {
    const auto token = call("aten::floor_divide", {by, 2}, {pairs}, kI64);
    return call("aten::index.Tensor", {x, {token}}, {pairs, 8});
  }
  TensorId multiply(TensorId rows, TensorId ends) {
    const auto w = weight({4, 8, 8});
    return call("transformers::grouped_mm_fallback", {rows, w, ends}, {pairs, 8});
  }
  TensorId inverse(TensorId of) {
    const auto blank = call("aten::empty_like", {of}, {pairs}, kI64);
    const auto count = call("aten::arange", {pairs}, {pairs}, kI64);
    return call("aten::index_put", {blank, {of}, count, false}, {pairs}, kI64);
  }
  TensorId put_back(TensorId rows, TensorId by) {
    return call("aten::index.Tensor", {rows, {by}}, {pairs, 8});
  }
};

TEST(SortedRows, ComeBackAsTheBatchs) {
  Experts s;
  const auto y = s.put_back(s.y_g, s.inverse(s.order));
  EXPECT_EQ(s.answer(y), "row-wise, split 0");
  EXPECT_EQ(s.answer(s.order), "row-wise, local");
  EXPECT_EQ(s.answer(s.offsets), "row-wise, local");
}

TEST(SortedRows, AreOneGroup) {
  Experts s;
  s.put_back(s.y_g, s.inverse(s.order));
  const Rows rows = s.rows();
  EXPECT_TRUE(std::ranges::all_of(rows.calls, [](const CallRows& how) { return how.group == 0; }));
}

TEST(SortedRows, MayBeWorkedOnRowByRow) {
  Experts s;
  const auto gate = s.call("aten::silu", {s.y_g}, {s.pairs, 8});
  const auto scaled = s.call("aten::mul.Tensor", {gate, s.weight({8})}, {s.pairs, 8});
  EXPECT_EQ(s.answer(s.put_back(scaled, s.inverse(s.order))), "row-wise, split 0");
}

TEST(SortedRows, MayBeAddedBack) {
  Experts s;
  const auto zeros = s.call("aten::zeros", {{s.tokens, 8}}, {s.tokens, 8});
  const auto token = s.call("aten::floor_divide", {s.order, 2}, {s.pairs}, kI64);
  const auto y = s.call("aten::index_add", {zeros, 0, token, s.y_g, 1}, {s.tokens, 8});
  EXPECT_EQ(s.answer(y), "row-wise, split 0");
}

TEST(SortedRows, MayBePutBackBySortingTheOrder) {
  Experts s;
  const auto again = s.calls("aten::sort", {s.order, -1, false}, {{s.pairs}, {s.pairs}}, kI64);
  EXPECT_EQ(s.answer(s.put_back(s.y_g, again[1])), "row-wise, split 0");
}

TEST(SortedRows, GivenBackAreCoupled) {
  Experts s;
  const auto y = s.put_back(s.y_g, s.inverse(s.order));
  s.give_back(s.keys);
  EXPECT_EQ(s.answer(s.order), "merged, coupled");
  EXPECT_EQ(s.answer(y), "merged, coupled");
}

TEST(SortedRows, MixedWithTheBatchsOrderAreCoupled) {
  Experts s;
  const auto mixed = s.call("aten::add.Tensor", {s.y_g, s.input({s.pairs, 8})}, {s.pairs, 8});
  EXPECT_EQ(s.answer(s.put_back(mixed, s.inverse(s.order))), "merged, coupled");
}

TEST(SortedRows, PutBackByAnotherOrderAreCoupled) {
  Experts s;
  const auto other =
      s.calls("aten::sort", {s.input({s.pairs}, kI64), -1, false}, {{s.pairs}, {s.pairs}}, kI64);
  EXPECT_EQ(s.answer(s.put_back(s.y_g, s.inverse(other[1]))), "merged, coupled");
}

TEST(SortedRows, WithOffsetsOfAnotherOrderAreCoupled) {
  Experts s;
  const auto other =
      s.calls("aten::sort", {s.input({s.pairs}, kI64), -1, false}, {{s.pairs}, {s.pairs}}, kI64);
  const auto y_g = s.multiply(s.take(other[1]), s.offsets);
  EXPECT_EQ(s.answer(s.put_back(y_g, s.inverse(other[1]))), "merged, coupled");
}

TEST(SortedRows, CountedInOtherBinsThanOnePerKeyAreCoupled) {
  Experts s(4);
  EXPECT_EQ(s.answer(s.put_back(s.y_g, s.inverse(s.order))), "merged, coupled");
}

TEST(SortedRows, MixedAmongThemselvesAreCoupled) {
  Experts s;
  const auto sums = s.call("aten::cumsum", {s.y_g, 0}, {s.pairs, 8});
  EXPECT_EQ(s.answer(s.put_back(sums, s.inverse(s.order))), "merged, coupled");
}

TEST(SortedRows, RegroupedAreCoupled) {
  Experts s;
  const auto two = s.call("aten::view", {s.y_g, {s.tokens, 2, 8}}, {s.tokens, 2, 8});
  const auto sum = s.call("aten::sum.dim_IntList", {two, {1}, false}, {s.tokens, 8});
  EXPECT_EQ(s.answer(sum), "merged, coupled");
}

TEST(SortedRows, WithDropoutAreCoupled) {
  Experts s;
  const auto dropped =
      s.calls("aten::native_dropout", {s.y_g, 0.1, true}, {{s.pairs, 8}, {s.pairs, 8}});
  s.last().tags = {"nondeterministic_seeded"};
  EXPECT_EQ(s.answer(s.put_back(dropped[0], s.inverse(s.order))), "merged, coupled");
}

TEST(SortedRows, OfTheWrongTokensAreCoupled) {
  Experts s;
  const auto wrong = s.call("aten::index.Tensor", {s.x, {s.order}}, {s.pairs, 8});
  EXPECT_EQ(s.answer(s.put_back(wrong, s.inverse(s.order))), "merged, coupled");
}

}  // namespace
}  // namespace dynaflow::rows
