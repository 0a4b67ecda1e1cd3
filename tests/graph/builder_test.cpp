// One graph per rule, which breaks that rule and nothing else.
#include "dynaflow/graph/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "support/findings.h"
#include "support/models.h"

namespace dynaflow::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;

constexpr const char* kHere = "builder_test.cpp";
constexpr Type kSum{Kind::kPartial, DType::kI64, kColumns};
constexpr auto kUnplaced = ValueSpec::Size::kUnplaced;

/// The builder was refused with exactly these findings.
template <class... Findings>
auto refused(Findings... findings) {
  return ::testing::ResultOf(
      [](const Result<Graph>& built) {
        return built ? std::vector<Diagnostic>{} : built.error().findings;
      },
      ElementsAre(findings...));
}

TEST(GraphBuilder, BuildsWhatIsRight) {
  GraphBuilder builder;
  const ValueId x = builder.input("x", kRow);
  const ValueId y = builder.value("y", kRow);
  builder.op({.name = "copy", .reads = {x}, .writes = {y}});
  builder.output(y);
  EXPECT_THAT(builder.build(), Works());
}

TEST(GraphBuilder, BuildsNothingAtAll) { EXPECT_THAT(GraphBuilder().build(), Works()); }

TEST(GraphBuilder, IsEmptyAfterwards) {
  GraphBuilder builder("again");
  builder.op({.name = "tick"});
  (void)builder.build();
  EXPECT_EQ(builder.build().value().ops().size(), 0U);
}

TEST(GraphBuilder, KeepsItsNameAfterwards) {
  GraphBuilder builder("again");
  (void)builder.build();
  EXPECT_EQ(builder.build().value().name(), "again");
}

TEST(GraphBuilder, ForgetsItsMistakesAfterwards) {
  GraphBuilder builder;
  builder.op({.name = ""});
  (void)builder.build();
  EXPECT_THAT(builder.build(), Works());
}

TEST(GraphBuilder, ReportsEveryMistakeAtOnce) {
  GraphBuilder builder;
  builder.value("none", {Kind::kSplit, DType::kF32, 0});
  builder.op({.name = "lost", .reads = {ValueId{9}}});
  builder.op({.name = "lost"});
  EXPECT_THAT(builder.build(),
              refused(Broke(kBadType), Broke(kUnknownOperand), Broke(kDuplicateName)));
}

TEST(GraphBuilder, SaysWhatToDo) {
  GraphBuilder builder;
  builder.op({.name = ""});
  EXPECT_THAT(builder.build(), refused(Field(&Diagnostic::fix, ::testing::Not(""))));
}

TEST(GraphBuilder, LetsAnOpShareItsNameWithAValue) {
  GraphBuilder builder;
  builder.input("attn", kRow);
  builder.op({.name = "attn"});
  EXPECT_THAT(builder.build(), Works());
}

TEST(GraphBuilder, LetsAValueHaveAnyName) {
  GraphBuilder builder;
  builder.input("op attn", kRow);
  builder.op({.name = "attn"});
  EXPECT_THAT(builder.build(), Works());
}

TEST(RuleG1, RefusesAReadOfAnUnknownValue) {
  GraphBuilder builder;
  builder.op({.name = "lost", .reads = {ValueId{}}});
  EXPECT_THAT(builder.build(), refused(AllOf(Broke(kUnknownOperand), Says("'lost'"), At(kHere))));
}

TEST(RuleG1, RefusesAWriteOfAnUnknownValue) {
  GraphBuilder builder;
  builder.op({.name = "lost", .writes = {ValueId{0}}});
  EXPECT_THAT(builder.build(), refused(AllOf(Broke(kUnknownOperand), Says("'lost'"), At(kHere))));
}

TEST(RuleG1, RefusesAnUnknownState) {
  GraphBuilder builder;
  builder.op({.name = "lost", .effects = {{StateId{0}, Access::kRead, Rows::kOwn}}});
  EXPECT_THAT(builder.build(), refused(AllOf(Broke(kUnknownOperand), Says("state"), At(kHere))));
}

TEST(RuleG1, RefusesAViewOfAnUnknownValue) {
  GraphBuilder builder;
  (void)builder.view("part", ValueId{3}, 0, 1);
  EXPECT_THAT(builder.build(), refused(AllOf(Broke(kUnknownOperand), Says("'part'"), At(kHere))));
}

TEST(RuleG1, RefusesAnUnknownOutput) {
  GraphBuilder builder;
  builder.output(ValueId{});
  EXPECT_THAT(builder.build(), refused(AllOf(Broke(kUnknownOperand), Says("output"), At(kHere))));
}

TEST(RuleG2, RefusesAReadBeforeTheWrite) {
  GraphBuilder builder;
  const ValueId u = builder.value("u", kRow);
  builder.op({.name = "early", .reads = {u}});
  EXPECT_THAT(builder.build(),
              refused(AllOf(Broke(kReadBeforeWrite), Says("'early' reads 'u'"), At(kHere))));
}

TEST(RuleG2, RefusesAnUpdateBeforeTheWrite) {
  GraphBuilder builder;
  const ValueId u = builder.value("u", kRow);
  builder.op({.name = "early", .updates = {u}});
  EXPECT_THAT(builder.build(), refused(AllOf(Broke(kReadBeforeWrite), Says("'early'"), At(kHere))));
}

TEST(RuleG2, RefusesAReadOfWhatIsHalfWritten) {
  GraphBuilder builder;
  const ValueId u = builder.value("u", kRow);
  const ValueId left = builder.view("left", u, 0, 2);
  builder.op({.name = "half", .writes = {left}});
  builder.op({.name = "early", .reads = {u}});
  EXPECT_THAT(builder.build(), refused(AllOf(Broke(kReadBeforeWrite), Says("'early'"), At(kHere))));
}

TEST(RuleG2, AcceptsAReadOfWhatWasWrittenInParts) {
  GraphBuilder builder;
  const ValueId u = builder.value("u", kRow);
  builder.op({.name = "right", .writes = {builder.view("r", u, 2, 1)}});
  builder.op({.name = "left", .writes = {builder.view("l", u, 0, 2)}});
  builder.op({.name = "all", .reads = {u}});
  EXPECT_THAT(builder.build(), Works());
}

TEST(RuleG3, RefusesAPartialSumAsInput) {
  GraphBuilder builder;
  builder.input("g", kSum);
  EXPECT_THAT(builder.build(), refused(AllOf(Broke(kKindMismatch), Says("'g'"), At(kHere))));
}

TEST(RuleG3, RefusesAnUnplacedPartialSum) {
  GraphBuilder builder;
  builder.value({"g", kSum, kUnplaced});
  EXPECT_THAT(builder.build(), refused(AllOf(Broke(kKindMismatch), Says("'g'"), At(kHere))));
}

TEST(RuleG3, RefusesTwoWritersOfOnePartialSum) {
  GraphBuilder builder;
  const ValueId x = builder.input("x", kRow);
  const ValueId g = builder.value("g", kSum);
  builder.op({.name = "one", .reads = {x}, .writes = {g}});
  builder.op({.name = "two", .reads = {x}, .writes = {g}});
  EXPECT_THAT(builder.build(),
              refused(AllOf(Broke(kKindMismatch), Says("by 'one' and by 'two'"), At(kHere))));
}

TEST(RuleG3, RefusesAStateThatIsSummedUp) {
  GraphBuilder builder;
  const StateId count = builder.state("count");
  builder.op({.name = "add", .effects = {{count, Access::kAccumulate}}});
  EXPECT_THAT(builder.build(), refused(AllOf(Broke(kKindMismatch),
                                             Says("'add' accumulates into a state"), At(kHere))));
}

TEST(RuleG4, RefusesAValueWithoutElements) {
  GraphBuilder builder;
  builder.value("none", {Kind::kSplit, DType::kF32, 0});
  EXPECT_THAT(builder.build(),
              refused(AllOf(Broke(kBadType), Says("'none' has 0 elements"), At(kHere))));
}

TEST(RuleG4, RefusesAValueOfMoreBytesThanCanBeCounted) {
  GraphBuilder builder;
  builder.value("vast", {Kind::kSplit, DType::kF64, std::int64_t{1} << 61});
  EXPECT_THAT(builder.build(), refused(AllOf(Broke(kBadType), Says("'vast'"), At(kHere))));
}

TEST(RuleG4, RefusesAViewOutsideItsBase) {
  GraphBuilder builder;
  const ValueId x = builder.input("x", kRow);
  (void)builder.view("far", x, 2, 2);
  EXPECT_THAT(builder.build(),
              refused(AllOf(Broke(kBadType), Says("'far' reaches outside 'x'"), At(kHere))));
}

TEST(RuleG4, RefusesAViewBeforeItsBase) {
  GraphBuilder builder;
  const ValueId x = builder.input("x", kRow);
  (void)builder.view("near", x, -1, 2);
  EXPECT_THAT(builder.build(), refused(AllOf(Broke(kBadType), Says("'near'"), At(kHere))));
}

TEST(RuleG4, RefusesAViewThatFitsOnlyByOverflow) {
  GraphBuilder builder;
  const ValueId x = builder.input("x", kRow);
  (void)builder.view("vast", x, 1, std::numeric_limits<std::int64_t>::max());
  EXPECT_THAT(builder.build(), refused(AllOf(Broke(kBadType), Says("'vast'"), At(kHere))));
}

TEST(RuleG4, RefusesAViewOfAnUnplacedValue) {
  GraphBuilder builder;
  const ValueId k = builder.value({"k", kRow, kUnplaced});
  (void)builder.view("part", k, 0, 1);
  EXPECT_THAT(builder.build(),
              refused(AllOf(Broke(kBadType), Says("unplaced value 'k'"), At(kHere))));
}

TEST(RuleG5, RefusesAnInputAsOutput) {
  GraphBuilder builder;
  builder.output(builder.input("x", kRow));
  EXPECT_THAT(builder.build(),
              refused(AllOf(Broke(kBadOutput), Says("'x' is an input"), At(kHere))));
}

TEST(RuleG5, RefusesAnOutputThatNobodyWrites) {
  GraphBuilder builder;
  builder.output(builder.value("y", kRow));
  EXPECT_THAT(builder.build(),
              refused(AllOf(Broke(kBadOutput), Says("'y' is written by no op"), At(kHere))));
}

TEST(RuleG5, RefusesAnUnplacedOutput) {
  GraphBuilder builder;
  const ValueId k = builder.value({"k", kRow, kUnplaced});
  builder.op({.name = "make", .writes = {k}});
  builder.output(k);
  EXPECT_THAT(builder.build(),
              refused(AllOf(Broke(kBadOutput), Says("'k' is unplaced"), At(kHere))));
}

TEST(RuleG5, RefusesTwoOutputsOfTheSameBytes) {
  GraphBuilder builder;
  const ValueId y = builder.value("y", kRow);
  builder.op({.name = "make", .writes = {y}, .coupling = Coupling::kCoupled});
  builder.output(y);
  builder.output(builder.view("part", y, 0, 1));
  EXPECT_THAT(
      builder.build(),
      refused(AllOf(Broke(kBadOutput), Says("'part' shares bytes with an output"), At(kHere))));
}

TEST(RuleG5, RefusesAnOutputThatIsHalfWritten) {
  GraphBuilder builder;
  const ValueId x = builder.input("x", kRow);
  const ValueId y = builder.value("y", kRow);
  builder.op({.name = "half", .reads = {x}, .writes = {builder.view("left", y, 0, 2)}});
  builder.output(y);
  EXPECT_THAT(builder.build(),
              refused(AllOf(Broke(kBadOutput), Says("'y' is never written in full"), At(kHere))));
}

TEST(RuleG6, RefusesTwoValuesOfOneName) {
  GraphBuilder builder;
  builder.input("x", kRow);
  builder.value("x", kRow);
  EXPECT_THAT(builder.build(), refused(AllOf(Broke(kDuplicateName), Says("'x'"), At(kHere))));
}

TEST(RuleG6, RefusesAViewOfAKnownName) {
  GraphBuilder builder;
  const ValueId x = builder.input("x", kRow);
  (void)builder.view("x", x, 0, 1);
  EXPECT_THAT(builder.build(), refused(AllOf(Broke(kDuplicateName), Says("'x'"), At(kHere))));
}

TEST(RuleG6, RefusesAStateOfAKnownName) {
  GraphBuilder builder;
  builder.input("cache", kRow);
  builder.state("cache");
  EXPECT_THAT(builder.build(), refused(AllOf(Broke(kDuplicateName), Says("'cache'"), At(kHere))));
}

TEST(RuleG6, RefusesTwoOpsOfOneName) {
  GraphBuilder builder;
  builder.op({.name = "tick"});
  builder.op({.name = "tick"});
  EXPECT_THAT(builder.build(), refused(AllOf(Broke(kDuplicateName), Says("'tick'"), At(kHere))));
}

TEST(RuleG6, RefusesAnOpWithoutAName) {
  GraphBuilder builder;
  builder.op({.name = ""});
  EXPECT_THAT(builder.build(), refused(AllOf(Broke(kDuplicateName), At(kHere))));
}

}  // namespace
}  // namespace dynaflow::testing
