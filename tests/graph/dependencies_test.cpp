// Order comes from data: which ops follow which, and how far an op reaches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dynaflow/graph/builder.h"
#include "support/models.h"

namespace dynaflow::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Type kSum{Kind::kPartial, DType::kI64, kColumns};

/// What an op follows: "first" for the same micro-batch, "first*" for every one.
std::vector<std::string> follows(const Graph& graph, OpId op) {
  std::vector<std::string> names;
  for (const Dependency& before : graph.predecessors(op)) {
    names.push_back(graph.op(before.op).name + (before.rows == Rows::kAll ? "*" : ""));
  }
  return names;
}

/// A graph in the making, with x as input and u, v as values, all split.
struct Draft {
  GraphBuilder builder;
  ValueId x = builder.input("x", kRow);
  ValueId u = builder.value("u", kRow);
  ValueId v = builder.value("v", kRow);

  OpId op(OpSpec spec) { return builder.op(std::move(spec)); }
  /// What the last op follows.
  std::vector<std::string> last_follows() {
    const Graph graph = builder.build().value();
    return follows(graph, id_at<OpId>(graph.ops().size() - 1));
  }
};

TEST(Dependencies, OfAReaderOfInputsAreNone) {
  Draft draft;
  draft.op({.name = "make", .reads = {draft.x}, .writes = {draft.u}});
  EXPECT_THAT(draft.last_follows(), IsEmpty());
}

TEST(Dependencies, PutAReaderAfterTheWriter) {
  Draft draft;
  draft.op({.name = "make", .reads = {draft.x}, .writes = {draft.u}});
  draft.op({.name = "use", .reads = {draft.u}, .writes = {draft.v}});
  EXPECT_THAT(draft.last_follows(), ElementsAre("make"));
}

TEST(Dependencies, LeaveTwoReadersAlone) {
  Draft draft;
  draft.op({.name = "one", .reads = {draft.x}, .writes = {draft.u}});
  draft.op({.name = "two", .reads = {draft.x}, .writes = {draft.v}});
  EXPECT_THAT(draft.last_follows(), IsEmpty());
}

TEST(Dependencies, PutAnOverwriteAfterEveryReader) {
  Draft draft;
  draft.op({.name = "one", .reads = {draft.x}, .writes = {draft.u}});
  draft.op({.name = "two", .reads = {draft.x}, .writes = {draft.v}});
  draft.op({.name = "overwrite", .writes = {draft.x}});
  EXPECT_THAT(draft.last_follows(), ElementsAre("one", "two"));
}

TEST(Dependencies, PutAnOverwriteAfterAWriteThatNobodyReads) {
  Draft draft;
  draft.op({.name = "one", .reads = {draft.x}, .writes = {draft.u}});
  draft.op({.name = "two", .reads = {draft.x}, .writes = {draft.u}});
  EXPECT_THAT(draft.last_follows(), ElementsAre("one"));
}

TEST(Dependencies, HideWhatAnOverwriteHasReplaced) {
  Draft draft;
  draft.op({.name = "one", .reads = {draft.x}, .writes = {draft.u}});
  draft.op({.name = "two", .reads = {draft.x}, .writes = {draft.u}});
  draft.op({.name = "use", .reads = {draft.u}, .writes = {draft.v}});
  EXPECT_THAT(draft.last_follows(), ElementsAre("two"));
}

TEST(Dependencies, PutAnInPlaceUpdateInOrder) {
  Draft draft;
  draft.op({.name = "make", .reads = {draft.x}, .writes = {draft.u}});
  draft.op({.name = "use", .reads = {draft.u}, .writes = {draft.v}});
  draft.op({.name = "relu", .updates = {draft.u}});
  EXPECT_THAT(draft.last_follows(), ElementsAre("make", "use"));
}

TEST(Dependencies, PutAReaderAfterTheUpdate) {
  Draft draft;
  draft.op({.name = "relu", .updates = {draft.x}});
  draft.op({.name = "use", .reads = {draft.x}, .writes = {draft.u}});
  EXPECT_THAT(draft.last_follows(), ElementsAre("relu"));
}

TEST(Dependencies, LeaveViewsOfDifferentBytesAlone) {
  Draft draft;
  const ValueId left = draft.builder.view("left", draft.u, 0, 1);
  const ValueId right = draft.builder.view("right", draft.u, 1, 2);
  draft.op({.name = "one", .reads = {draft.x}, .writes = {left}});
  draft.op({.name = "two", .reads = {draft.x}, .writes = {right}});
  EXPECT_THAT(draft.last_follows(), IsEmpty());
}

TEST(Dependencies, FollowViewsThatMeetInAByte) {
  Draft draft;
  const ValueId left = draft.builder.view("left", draft.u, 0, 2);
  const ValueId right = draft.builder.view("right", draft.u, 1, 2);
  draft.op({.name = "one", .reads = {draft.x}, .writes = {left}});
  draft.op({.name = "two", .reads = {draft.x}, .writes = {right}});
  EXPECT_THAT(draft.last_follows(), ElementsAre("one"));
}

TEST(Dependencies, FollowEveryPartOfWhatIsReadWhole) {
  Draft draft;
  const ValueId left = draft.builder.view("left", draft.u, 0, 1);
  const ValueId right = draft.builder.view("right", draft.u, 1, 2);
  draft.op({.name = "one", .reads = {draft.x}, .writes = {left}});
  draft.op({.name = "two", .reads = {draft.x}, .writes = {right}});
  draft.op({.name = "use", .reads = {draft.u}, .writes = {draft.v}});
  EXPECT_THAT(draft.last_follows(), ElementsAre("one", "two"));
}

TEST(Dependencies, FollowAViewOfAView) {
  Draft draft;
  const ValueId tail = draft.builder.view("tail", draft.u, 1, 2);
  const ValueId end = draft.builder.view("end", tail, 1, 1);
  draft.op({.name = "make", .reads = {draft.x}, .writes = {tail}});
  draft.op({.name = "use", .reads = {end}, .writes = {draft.v}});
  EXPECT_THAT(draft.last_follows(), ElementsAre("make"));
}

TEST(Dependencies, NameAnOpOnce) {
  Draft draft;
  draft.op({.name = "make", .reads = {draft.x}, .writes = {draft.u, draft.v}});
  draft.op({.name = "use", .reads = {draft.u, draft.v}});
  EXPECT_THAT(draft.last_follows(), ElementsAre("make"));
}

TEST(Dependencies, OfACoupledOpReachEveryMicrobatch) {
  Draft draft;
  draft.op({.name = "make", .reads = {draft.x}, .writes = {draft.u}});
  draft.op(
      {.name = "sort", .reads = {draft.u}, .writes = {draft.v}, .coupling = Coupling::kCoupled});
  EXPECT_THAT(draft.last_follows(), ElementsAre("make*"));
}

TEST(Dependencies, OnACoupledOpReachEveryMicrobatch) {
  Draft draft;
  draft.op(
      {.name = "sort", .reads = {draft.x}, .writes = {draft.u}, .coupling = Coupling::kCoupled});
  draft.op({.name = "use", .reads = {draft.u}, .writes = {draft.v}});
  EXPECT_THAT(draft.last_follows(), ElementsAre("sort*"));
}

TEST(Dependencies, OnASumReachEveryMicrobatch) {
  Draft draft;
  const ValueId sum = draft.builder.value("sum", kSum);
  const ValueId total = draft.builder.value("total", kTable);
  draft.op({.name = "add", .reads = {draft.x}, .writes = {sum}});
  draft.op({.name = "use", .reads = {sum}, .writes = {total}});
  EXPECT_THAT(draft.last_follows(), ElementsAre("add*"));
}

TEST(Dependencies, OnAWholeValueReachEveryMicrobatch) {
  Draft draft;
  const ValueId w = draft.builder.input("w", kTable);
  const ValueId t = draft.builder.value("t", kTable);
  draft.op({.name = "prepare", .reads = {w}, .writes = {t}});
  draft.op({.name = "use", .reads = {draft.x, t}, .writes = {draft.u}});
  EXPECT_THAT(draft.last_follows(), ElementsAre("prepare*"));
}

TEST(Dependencies, OnAnUnplacedValueStayWithinTheMicrobatch) {
  Draft draft;
  const ValueId k = draft.builder.value({"k", kRow, ValueSpec::Size::kUnplaced});
  draft.op({.name = "make", .reads = {draft.x}, .writes = {k}});
  draft.op({.name = "use", .reads = {k}, .writes = {draft.u}});
  EXPECT_THAT(draft.last_follows(), ElementsAre("make"));
}

/// Two ops with these effects on one state: what the second follows.
std::vector<std::string> follows_on_state(Access first, Rows first_rows, Access second,
                                          Rows second_rows) {
  Draft draft;
  const StateId cache = draft.builder.state("cache");
  draft.op({.name = "one",
            .reads = {draft.x},
            .writes = {draft.u},
            .effects = {{cache, first, first_rows}}});
  draft.op({.name = "two",
            .reads = {draft.x},
            .writes = {draft.v},
            .effects = {{cache, second, second_rows}}});
  return draft.last_follows();
}

TEST(Dependencies, OnStateOfOwnRowsStayWithinTheMicrobatch) {
  EXPECT_THAT(follows_on_state(Access::kUpdate, Rows::kOwn, Access::kRead, Rows::kOwn),
              ElementsAre("one"));
}

TEST(Dependencies, OnStateOfAllRowsReachEveryMicrobatch) {
  EXPECT_THAT(follows_on_state(Access::kUpdate, Rows::kOwn, Access::kRead, Rows::kAll),
              ElementsAre("one*"));
}

TEST(Dependencies, OfAnUpdateAfterAReadOfAllRowsReachEveryMicrobatch) {
  EXPECT_THAT(follows_on_state(Access::kRead, Rows::kAll, Access::kUpdate, Rows::kOwn),
              ElementsAre("one*"));
}

TEST(Dependencies, OfTwoReadersOfStateAreNone) {
  EXPECT_THAT(follows_on_state(Access::kRead, Rows::kAll, Access::kRead, Rows::kAll), IsEmpty());
}

TEST(Dependencies, AreTheSameInBothDirections) {
  const Model model = three_in_a_row();
  EXPECT_THAT(model.graph.successors(OpId{0}), ElementsAre(Dependency{OpId{1}, Rows::kOwn}));
}

}  // namespace
}  // namespace dynaflow::testing
