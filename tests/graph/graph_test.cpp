#include "dynaflow/graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dynaflow/graph/builder.h"
#include "support/models.h"

namespace dynaflow::testing {
namespace {

using ::testing::ElementsAre;

constexpr Type kSum{Kind::kPartial, DType::kI64, kColumns};
constexpr Type kMixed{Kind::kCoupled, DType::kI64, kColumns};

/// How often, and why, an op with these operands runs.
struct Runs {
  RunsPer per;
  std::string reason;
  friend bool operator==(const Runs&, const Runs&) = default;
};

Runs runs_of(const Graph& graph, OpId op) { return {graph.op(op).runs, graph.op(op).runs_reason}; }

Runs once(const std::string& reason) { return {RunsPer::kBatch, reason}; }

const Runs kPerMicrobatch{RunsPer::kMicrobatch, ""};

TEST(RunsPer, IsOncePerMicrobatchForRows) {
  const Model model = three_in_a_row();
  EXPECT_EQ(runs_of(model.graph, OpId{0}), kPerMicrobatch);
}

TEST(RunsPer, IsOncePerMicrobatchForAPartOfASum) {
  const Model model = with_sum();
  EXPECT_EQ(runs_of(model.graph, OpId{1}), kPerMicrobatch);
}

TEST(RunsPer, IsOncePerBatchForACoupledOp) {
  const Model model = with_mean();
  EXPECT_EQ(runs_of(model.graph, OpId{1}), once("its rows depend on each other"));
}

TEST(RunsPer, IsOncePerBatchForAReaderOfASum) {
  const Model model = with_sum();
  EXPECT_EQ(runs_of(model.graph, OpId{2}), once("it needs the whole sum 's'"));
}

TEST(RunsPer, IsOncePerBatchForACoupledValue) {
  GraphBuilder builder;
  const ValueId x = builder.input("x", kMixed);
  const OpId op = builder.op({.name = "use", .reads = {x}});
  EXPECT_EQ(runs_of(builder.build().value(), op), once("'x' is coupled"));
}

TEST(RunsPer, IsOncePerBatchForAWriterOfAWholeValue) {
  GraphBuilder builder;
  const ValueId x = builder.input("x", kRow);
  const ValueId t = builder.value("t", kTable);
  const OpId op = builder.op({.name = "make", .reads = {x}, .writes = {t}});
  EXPECT_EQ(runs_of(builder.build().value(), op), once("it writes the whole value 't'"));
}

TEST(RunsPer, IsOncePerBatchForAnOpWithoutRows) {
  GraphBuilder builder;
  const OpId op = builder.op({.name = "tick"});
  EXPECT_EQ(runs_of(builder.build().value(), op),
            once("it touches nothing that carries the batch"));
}

TEST(RunsPer, IsOncePerBatchForAWriterOfAllRowsOfState) {
  GraphBuilder builder;
  const ValueId x = builder.input("x", kRow);
  const StateId random = builder.state("random");
  const OpId op = builder.op(
      {.name = "draw", .reads = {x}, .effects = {{random, Access::kUpdate, Rows::kAll}}});
  EXPECT_EQ(runs_of(builder.build().value(), op), once("it writes all rows of state 'random'"));
}

TEST(RunsPer, IsOncePerMicrobatchForAReaderOfAllRowsOfState) {
  GraphBuilder builder;
  const ValueId x = builder.input("x", kRow);
  const StateId cache = builder.state("cache");
  const OpId op =
      builder.op({.name = "look", .reads = {x}, .effects = {{cache, Access::kRead, Rows::kAll}}});
  EXPECT_EQ(runs_of(builder.build().value(), op), kPerMicrobatch);
}

TEST(RunsPer, IsOncePerBatchForAReaderOfAllRowsThatWritesSome) {
  GraphBuilder builder;
  const StateId cache = builder.state("cache");
  const OpId op = builder.op(
      {.name = "shift",
       .effects = {{cache, Access::kRead, Rows::kAll}, {cache, Access::kUpdate, Rows::kOwn}}});
  EXPECT_EQ(runs_of(builder.build().value(), op),
            once("it reads all rows of state 'cache' and writes some"));
}

TEST(RunsPer, IsOncePerBatchForAllUsersOfAnUnplacedValueThatOneUsesWhole) {
  GraphBuilder builder;
  const ValueId x = builder.input("x", kRow);
  const ValueId k = builder.value({"k", kRow, ValueSpec::Size::kUnplaced});
  const OpId make = builder.op({.name = "make", .reads = {x}, .writes = {k}});
  builder.op({.name = "sort", .reads = {k}, .coupling = Coupling::kCoupled});
  EXPECT_EQ(runs_of(builder.build().value(), make),
            once("the unplaced value 'k' is used by an op that does"));
}

TEST(RunsPer, IsOncePerMicrobatchForAReaderOfAnUnplacedWholeValue) {
  GraphBuilder builder;
  const ValueId x = builder.input("x", kRow);
  const ValueId y = builder.value("y", kRow);
  const ValueId table = builder.value({"table", kTable, ValueSpec::Size::kUnplaced});
  builder.op({.name = "make", .writes = {table}});
  const OpId use = builder.op({.name = "use", .reads = {table, x}, .writes = {y}});
  EXPECT_EQ(runs_of(builder.build().value(), use), kPerMicrobatch);
}

TEST(Graph, PutsReadsBeforeUpdatesBeforeWrites) {
  GraphBuilder builder;
  const ValueId x = builder.input("x", kRow);
  const ValueId c = builder.input("c", kRow);
  const ValueId y = builder.value("y", kRow);
  const OpId op = builder.op({.name = "all", .reads = {x}, .updates = {c}, .writes = {y}});
  const Graph graph = builder.build().value();
  std::vector<ValueId> operands;
  for (const Operand& operand : graph.op(op).operands) operands.push_back(operand.value);
  EXPECT_THAT(operands, ElementsAre(x, c, y));
}

TEST(Graph, KnowsTheUsersOfAResource) {
  const Model model = two_branches();
  EXPECT_THAT(model.graph.users(0), ElementsAre(OpId{0}, OpId{1}));
}

TEST(Graph, KnowsThatNobodyWritesAnInput) { EXPECT_FALSE(three_in_a_row().graph.is_written(0)); }

TEST(Graph, PrintsALinePerOp) {
  GraphBuilder builder("decode");
  const StateId cache = builder.state("cache");
  const ValueId x = builder.input("x", kRow);
  const ValueId w = builder.input("w", kTable);
  const ValueId h = builder.value("h", kRow);
  const ValueId g = builder.value("g", kSum);
  builder.op({.name = "attend",
              .reads = {x, w},
              .writes = {h},
              .effects = {{cache, Access::kUpdate, Rows::kOwn}}});
  builder.op({.name = "relu", .updates = {h}, .tags = {"cheap", "memory"}});
  builder.op({.name = "loss", .reads = {h}, .writes = {g}});
  builder.op({.name = "clip", .updates = {g}});
  builder.op({.name = "peek", .reads = {h}, .effects = {{cache, Access::kRead, Rows::kAll}}});
  EXPECT_EQ(to_string(builder.build().value()),
            "graph decode  5 ops, 4 values\n"
            "  attend : x, w -> h  writes state cache\n"
            "  relu   :  -> h (in place)  #cheap  #memory\n"
            "  loss   : h -> g (sum)\n"
            "  clip   :  -> g (in place)  once per batch: it needs the whole sum 'g'\n"
            "  peek   : h ->   reads state cache (all rows)\n");
}

TEST(Type, PrintsRowsWhereItHasThem) {
  EXPECT_EQ(to_string(Type{Kind::kSplit, DType::kF32, 64}), "split f32[rows, 64]");
}

TEST(Type, PrintsNoRowsWhereItHasNone) {
  EXPECT_EQ(to_string(Type{Kind::kWhole, DType::kI64, 8}), "whole i64[8]");
}

TEST(Type, KnowsItsBytes) { EXPECT_EQ((Type{Kind::kWhole, DType::kBF16, 8}.bytes()), 16); }

}  // namespace
}  // namespace dynaflow::testing
