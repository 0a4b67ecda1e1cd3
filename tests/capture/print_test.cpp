#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capture/document.h"

namespace dynaflow::capture {
namespace {

Capture small() { return from_json(document().dump()).value(); }

TEST(Print, ShowsEveryCallWithItsTypes) {
  EXPECT_EQ(
      to_string(small()),
      "capture small  2 calls, 4 inputs\n"
      "  y, _ = my::pool.two(x, [w, none, -1], true, 2, 0.500000, \"mean\", 2*batch, -inf, nan, "
      "inf, f16, cpu, strided, preserve, [0.0,1.0])  f32[batch, floordiv(S, 2)]\n"
      "  z = aten::nonzero(y)  i64[n]\n");
}

TEST(Print, NamesAnOverload) {
  EXPECT_EQ(small().calls[0].name(), "my::pool.two");
  EXPECT_EQ(small().calls[1].name(), "aten::nonzero");
}

TEST(Print, ShowsATensorsSizes) {
  const Capture capture = small();
  EXPECT_EQ(to_string(capture, capture.tensors[0]), "f32[batch, S, 8]");
}

TEST(Argument, IsWhatItHolds) {
  const Call call = small().calls[0];
  EXPECT_EQ(call.arguments[0].tensor(), TensorId{0});
  EXPECT_EQ(call.arguments[1].list().size(), 3U);
  EXPECT_TRUE(call.arguments[1].list()[1].is_none());
  EXPECT_EQ(call.arguments[2].boolean(), true);
  EXPECT_EQ(call.arguments[3].integer(), 2);
  EXPECT_EQ(call.arguments[3].size(), Extent(2));
  EXPECT_EQ(call.arguments[6].size(), Extent(SymbolId{0}) * 2);
}

TEST(Argument, IsNothingElse) {
  const Call call = small().calls[0];
  EXPECT_FALSE(call.arguments[3].tensor() || call.arguments[3].boolean());
  EXPECT_FALSE(call.arguments[2].integer() || call.arguments[2].size());
  EXPECT_TRUE(call.arguments[0].list().empty());
}

TEST(Argument, ShowsTheTensorsInLists) {
  std::vector<std::uint32_t> seen;
  for_each_input(small().calls[0], [&](TensorId tensor) { seen.push_back(tensor.index); });
  EXPECT_THAT(seen, testing::ElementsAre(0, 1));
}

TEST(Call, KnowsWhatItWritesAndItsTags) {
  const Call call = small().calls[0];
  EXPECT_TRUE(call.writes_argument(0) && !call.writes_argument(1));
  EXPECT_TRUE(call.has_tag("pointwise") && !call.has_tag("inplace"));
}

}  // namespace
}  // namespace dynaflow::capture
