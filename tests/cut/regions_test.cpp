#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cut/check.h"
#include "support/findings.h"
#include "support/sketch.h"

namespace dynaflow::cut {
namespace {

using capture::TensorId;
using rows::Sketch;
using ::testing::ElementsAre;

constexpr DType kI64 = DType::kI64;
const Rule kBlocks{Rule::Selects::kModule, {"Block"}};

/// Calls in modules of class Block.
struct Blocks : Sketch {
  TensorId in(const std::string& block, TensorId made) {
    last().modules = {{block, "Block"}};
    return made;
  }
  TensorId unary(const std::string& block, const std::string& op, TensorId of) {
    const TensorId made = call(op, {of}, tensor(of).sizes);
    return block.empty() ? made : in(block, made);
  }
  [[nodiscard]] Cut cut() const { return make_cut(rows(), {kBlocks}); }

  TensorId x = input({B, 8});
};

TEST(Prologue, HoldsWhatNeedsNoRows) {
  Blocks s;
  const auto w = s.weight({8, 8});
  const auto scaled = s.unary("a", "aten::neg", w);
  s.give_back(s.in("a", s.call("aten::mm", {s.x, scaled}, {s.B, 8})));
  const Cut cut = s.cut();
  EXPECT_EQ(region_of(cut, scaled), "prologue");
  EXPECT_EQ(region_named(cut, "prologue").runs, RunsPer::kBatch);
  EXPECT_EQ(cut.regions.front().name, "prologue");
}

TEST(Prologue, LeavesViewsToWhoReadsThroughThem) {
  Blocks s;
  const auto turned = s.view("aten::t", {s.weight({8, 8})}, {8, 8});
  s.give_back(s.in("a", s.call("aten::mm", {s.x, turned}, {s.B, 8})));
  const Cut cut = s.cut();
  EXPECT_EQ(cut.regions.size(), 1U);
  EXPECT_EQ(cut.regions[0].calls.size(), 2U);
}

TEST(Prologue, HoldsNoCollective) {
  Blocks s;
  const auto w = s.weight({8});
  const auto gathered = s.call("_c10d_functional::all_reduce", {w, "sum", "0"}, {8});
  s.give_back(s.call("aten::add.Tensor", {s.x, gathered, 1}, {s.B, 8}));
  const Cut cut = s.cut();
  EXPECT_EQ(region_of(cut, gathered), "all_reduce");
  EXPECT_EQ(fault_of(cut), "");
}

TEST(Prologue, HoldsNothingThatWrites) {
  Blocks s;
  const auto counter = s.weight({1}, kI64);
  s.write("aten::add_.Scalar", {counter, 1, 1});
  s.give_back(s.unary("a", "aten::relu", s.x));
  EXPECT_EQ(fault_of(s.cut()), "");
  EXPECT_TRUE(region_named(s.cut(), "prologue").calls.empty());
}

TEST(Prologue, HoldsNothingThatReadsWhatWasWritten) {
  Blocks s;
  const auto counter = s.weight({8});
  const auto before = s.unary("", "aten::neg", counter);
  s.write("aten::add_.Scalar", {counter, 1, 1});
  const auto after = s.unary("", "aten::neg", counter);
  s.give_back(s.call("aten::add.Tensor", {s.x, before, 1}, {s.B, 8}));
  s.give_back(s.call("aten::add.Tensor", {s.x, after, 1}, {s.B, 8}));
  const Cut cut = s.cut();
  EXPECT_EQ(region_of(cut, before), "prologue");
  EXPECT_NE(region_of(cut, after), "prologue");
  EXPECT_EQ(fault_of(cut), "");
}

TEST(Prologue, HoldsNothingRandom) {
  Blocks s;
  const auto noise = s.call("aten::rand", {{8}}, {8});
  s.last().tags = {"nondeterministic_seeded"};
  s.give_back(s.call("aten::add.Tensor", {s.x, noise, 1}, {s.B, 8}));
  EXPECT_NE(region_of(s.cut(), noise), "prologue");
}

TEST(Regions, AreOpenedAnewWhereTheyWouldNeedEachOther) {
  Blocks s;
  const auto a = s.unary("a", "aten::relu", s.x);
  const auto b = s.unary("b", "aten::exp", a);
  const auto again = s.in("a", s.call("aten::add.Tensor", {a, b, 1}, {s.B, 8}));
  s.give_back(again);
  const Cut cut = s.cut();
  EXPECT_THAT(region_names(cut), ElementsAre("a", "b", "a#2"));
  EXPECT_EQ(fault_of(cut), "");
}

TEST(Regions, OfBranchesStayWhole) {
  Blocks s;
  const auto a = s.unary("a", "aten::relu", s.x);
  const auto b = s.unary("b", "aten::exp", s.x);
  const auto a2 = s.unary("a", "aten::tanh", a);
  const auto b2 = s.unary("b", "aten::neg", b);
  s.give_back(s.call("aten::add.Tensor", {a2, b2, 1}, {s.B, 8}));
  const Cut cut = s.cut();
  EXPECT_EQ(region_of(cut, a2), "a");
  EXPECT_EQ(region_of(cut, b2), "b");
}

TEST(Regions, KeepTheOrderOfWritesToOneMemory) {
  Blocks s;
  const auto cache = s.input({s.B, 8});
  const auto before = s.unary("a", "aten::relu", cache);
  s.write("aten::copy_", {cache, s.x});
  s.in("b", {});
  const auto after = s.unary("c", "aten::exp", cache);
  s.give_back(s.call("aten::add.Tensor", {before, after, 1}, {s.B, 8}));
  const Cut cut = s.cut();
  EXPECT_THAT(region_names(cut), ElementsAre("a", "b", "c", "top"));
  EXPECT_THAT(region_named(cut, "b").updates, ElementsAre(cache));
  EXPECT_EQ(fault_of(cut), "");
}

TEST(Regions, KeepTheOrderOfDraws) {
  Blocks s;
  const auto draw = [&](const std::string& block) {
    const auto drawn = s.in(block, s.call("aten::rand_like", {s.x}, {s.B, 8}));
    s.last().tags = {"nondeterministic_seeded"};
    return drawn;
  };
  const auto a = draw("a");
  const auto b = draw("b");
  const auto c = draw("a");
  for (const auto drawn : {a, b, c}) s.give_back(drawn);
  EXPECT_EQ(fault_of(s.cut()), "");
  EXPECT_NE(region_of(s.cut(), a), region_of(s.cut(), c));
}

TEST(MergedCall, IsCutOutOfItsModule) {
  Blocks s;
  const auto before = s.unary("a", "aten::relu", s.x);
  const auto sums = s.in("a", s.call("aten::cumsum", {before, 0}, {s.B, 8}));
  const auto mean = s.in("a", s.call("aten::mean.dim", {before, {0}, false}, {8}));
  const auto after = s.in("a", s.call("aten::sub.Tensor", {before, mean, 1}, {s.B, 8}));
  s.give_back(sums);
  s.give_back(after);
  const Cut cut = s.cut();
  EXPECT_EQ(region_of(cut, sums), region_of(cut, mean));
  EXPECT_EQ(region_named(cut, region_of(cut, mean)).runs, RunsPer::kBatch);
  EXPECT_EQ(region_named(cut, region_of(cut, before)).runs, RunsPer::kMicrobatch);
  EXPECT_EQ(region_named(cut, region_of(cut, after)).runs, RunsPer::kMicrobatch);
  EXPECT_EQ(fault_of(cut), "");
}

TEST(MergedCall, SaysWhy) {
  Blocks s;
  s.give_back(s.in("a", s.call("aten::cumsum", {s.x, 0}, {s.B, 8})));
  const Cut cut = s.cut();
  EXPECT_FALSE(cut.regions[0].runs_reason.empty());
  EXPECT_NE(to_string(cut).find("once per batch: "), std::string::npos);
}

TEST(PartialSum, IsOfTheWholeBatch) {
  Blocks s;
  const auto sum = s.in("a", s.call("aten::sum.dim_IntList", {s.x, {0}, false}, {8}));
  s.give_back(sum);
  const Cut cut = s.cut();
  EXPECT_EQ(region_named(cut, region_of(cut, sum)).runs, RunsPer::kBatch);
}

/// Row numbers that find rows: local, so they stay with who counts.
struct Counting : Blocks {
  TensorId numbers(const std::string& block) {
    return in(block, call("aten::arange", {B}, {B}, kI64));
  }
  TensorId find(const std::string& block, TensorId among, TensorId numbers_) {
    return in(block, call("aten::index.Tensor", {among, {numbers_}}, {B, 8}));
  }
};

TEST(LocalTensors, StayWithTheirUsersInAnotherModule) {
  Counting s;
  const auto numbers = s.numbers("a");
  const auto y = s.unary("a", "aten::relu", s.x);
  const auto found = s.find("b", s.unary("b", "aten::exp", y), numbers);
  s.give_back(found);
  const Cut cut = s.cut();
  EXPECT_EQ(region_of(cut, numbers), region_of(cut, found));
  EXPECT_EQ(fault_of(cut), "");
  EXPECT_THAT(graph_of(cut), dynaflow::testing::Works());
}

TEST(LocalTensors, StayTogetherWhereTheirModuleIsOpenedAnew) {
  Counting s;
  const auto numbers = s.numbers("a");
  const auto y = s.unary("a", "aten::relu", s.x);
  const auto sums = s.in("a", s.call("aten::mean.dim", {y, {0}, false}, {8}));
  const auto back = s.in("a", s.call("aten::sub.Tensor", {y, sums, 1}, {s.B, 8}));
  const auto found = s.find("a", back, numbers);
  s.give_back(found);
  const Cut cut = s.cut();
  EXPECT_EQ(region_of(cut, numbers), region_of(cut, found));
  EXPECT_EQ(fault_of(cut), "");
  EXPECT_THAT(graph_of(cut), dynaflow::testing::Works());
}

/// Rows taken in the order of a sort, and put back later.
struct Sorting : Blocks {
  explicit Sorting(const std::string& block) {
    order = calls("aten::sort.stable", {input({B}, kI64), true, 0, false}, {{B}, {B}}, kI64)[1];
    in(block, order);
    taken = in(block, call("aten::index.Tensor", {x, {order}}, {B, 8}));
  }
  TensorId put_back(const std::string& block, TensorId rows_) {
    const auto inverse = in(block, call("aten::argsort", {order, 0, false}, {B}, kI64));
    return in(block, call("aten::index.Tensor", {rows_, {inverse}}, {B, 8}));
  }

  TensorId order, taken;
};

TEST(LocalTensors, OfASortStayTogetherAcrossModules) {
  Sorting s("a");
  const auto back = s.put_back("c", s.unary("b", "aten::relu", s.taken));
  s.give_back(back);
  const Cut cut = s.cut();
  EXPECT_EQ(s.answer(back), "row-wise, split 0");
  EXPECT_EQ(region_of(cut, back), region_of(cut, s.order));
  EXPECT_EQ(fault_of(cut), "");
  EXPECT_THAT(graph_of(cut), dynaflow::testing::Works());
}

TEST(LocalTensors, OfASortStayTogetherWhereTheirModuleIsOpenedAnew) {
  Sorting s("a");
  const auto y = s.unary("a", "aten::relu", s.x);
  const auto mean = s.in("a", s.call("aten::mean.dim", {y, {0}, false}, {8}));
  s.give_back(s.in("a", s.call("aten::sub.Tensor", {y, mean, 1}, {s.B, 8})));
  const auto back = s.put_back("a", s.unary("a", "aten::exp", s.taken));
  s.give_back(back);
  const Cut cut = s.cut();
  EXPECT_EQ(region_of(cut, back), region_of(cut, s.order));
  EXPECT_EQ(fault_of(cut), "");
  EXPECT_THAT(graph_of(cut), dynaflow::testing::Works());
}

TEST(LocalTensors, TakeInWhatIsBetweenThem) {
  Sorting s("a");
  const auto shared = s.in("b", s.call("aten::add.Tensor", {s.taken, 1, 1}, {s.B, 8}));
  const auto back = s.put_back("a", shared);
  const auto mean = s.in("c", s.call("aten::mean.dim", {back, {0}, false}, {8}));
  s.give_back(s.in("a", s.call("aten::sub.Tensor", {back, mean, 1}, {s.B, 8})));
  const Cut cut = s.cut();
  EXPECT_EQ(region_of(cut, shared), region_of(cut, s.order));
  EXPECT_EQ(fault_of(cut), "");
  EXPECT_THAT(graph_of(cut), dynaflow::testing::Works());
}

TEST(Graph, RefusesWhatMeansSomethingOnlyInsideAnOp) {
  Counting s;
  const auto numbers = s.numbers("a");
  s.give_back(s.find("a", s.x, numbers));
  Cut cut = s.cut();
  cut.regions[0].writes.push_back(numbers);
  EXPECT_THAT(graph_of(cut), dynaflow::testing::RefusedSaying(kBadCapture, "leaves op a"));
}

TEST(Graph, MakesEachBodyOnce) {
  Blocks s;
  const auto a = s.unary("a", "aten::relu", s.x);
  s.give_back(s.unary("b", "aten::relu", a));
  const Cut cut = s.cut();
  int made = 0;
  const auto graph = make_graph(cut, [&](const Cut&, const Region&) {
    ++made;
    return std::shared_ptr<const Body>();
  });
  EXPECT_THAT(graph, dynaflow::testing::Works());
  EXPECT_EQ(cut.bodies, 1U);
  EXPECT_GE(made, 1);
}

TEST(Graph, TakesOnlyInputsThatAreUsed) {
  Blocks s;
  const auto unused = s.input({s.B, 8});
  s.give_back(s.unary("a", "aten::relu", s.x));
  const auto graph = graph_of(s.cut()).value();
  EXPECT_FALSE(graph.values[unused.index].valid());
  EXPECT_TRUE(graph.values[s.x.index].valid());
}

TEST(Graph, GivesBackAMemoryOnce) {
  Blocks s;
  const auto y = s.unary("a", "aten::relu", s.x);
  s.give_back(y);
  s.give_back(s.view("aten::view", {y, {s.B, 2, 4}}, {s.B, 2, 4}));
  EXPECT_EQ(graph_of(s.cut()).value().graph.outputs().size(), 1U);
}

TEST(Graph, CallsNetworkWhatCommunicates) {
  Blocks s;
  s.give_back(s.call("_c10d_functional::all_reduce", {s.x, "sum", "0"}, {s.B, 8}));
  const auto graph = graph_of(s.cut()).value();
  EXPECT_EQ(graph.graph.ops().front().cost, CostClass::kNetwork);
  EXPECT_EQ(graph.graph.ops().front().group, "0");
}

}  // namespace
}  // namespace dynaflow::cut
