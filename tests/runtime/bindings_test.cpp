#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <span>
#include <vector>

#include "dynaflow/dynaflow.h"
#include "runtime/prepared.h"
#include "support/findings.h"

namespace dynaflow::testing {
namespace {

using Numbers = std::vector<std::int64_t>;

constexpr std::size_t kNumbers = 4 * kColumns;

/// A graph of four rows: x -> y, with a view of x, an arena value, and a table w updated in place.
class Bindings : public ::testing::Test {
 protected:
  Bindings() {
    GraphBuilder builder;
    x_ = builder.input("x", kRow);
    w_ = builder.input("w", kTable);
    view_ = builder.view("view", x_, 0, 1);
    u_ = builder.value("u", kRow);
    y_ = builder.value("y", kRow);
    builder.op({.name = "first", .reads = {x_, view_}, .writes = {u_}, .kernel = mix(1)});
    builder.op(
        {.name = "second", .reads = {u_}, .writes = {y_}, .kernel = [](const KernelArgs& args) {
           if (args.out(0).data != nullptr) mix(2)(args);
         }});
    builder.op({.name = "learn", .updates = {w_}, .kernel = [](const KernelArgs&) {}});
    builder.output(y_);
    graph_ = builder.build().value();
  }

  [[nodiscard]] Result<Stats> run(const std::vector<Binding>& bindings) {
    auto program = prepare(graph_, Sequential(), Split{{4}}, cpu_);
    return program.value().run(bindings);
  }

  CpuDevice cpu_;
  Graph graph_;
  ValueId x_, w_, view_, u_, y_;
  Numbers x_numbers_ = input_for(4);
  Numbers w_numbers_ = Numbers(kColumns);
  Numbers y_numbers_ = Numbers(kNumbers);
};

TEST_F(Bindings, ThatNameEachInputAndOutputOnceWork) {
  EXPECT_THAT(run({bind(x_, x_numbers_), bind(w_, w_numbers_), bind(y_, y_numbers_)}), Works());
}

TEST_F(Bindings, MayComeInAnyOrder) {
  EXPECT_THAT(run({bind(y_, y_numbers_), bind(w_, w_numbers_), bind(x_, x_numbers_)}), Works());
}

TEST_F(Bindings, OfAnInputThatIsOnlyReadMayBeConstant) {
  const Numbers constant = x_numbers_;
  EXPECT_THAT(run({bind(x_, constant), bind(w_, w_numbers_), bind(y_, y_numbers_)}), Works());
}

TEST_F(Bindings, OfAnInputThatIsWrittenMayNotBeConstant) {
  const Numbers constant = w_numbers_;
  EXPECT_THAT(run({bind(x_, x_numbers_), bind(w_, constant), bind(y_, y_numbers_)}),
              RefusedSaying(kBadBinding, "'w' is written, but is bound as read-only"));
}

TEST_F(Bindings, OfAnOutputMayNotBeConstant) {
  const Numbers constant = y_numbers_;
  EXPECT_THAT(run({bind(x_, x_numbers_), bind(w_, w_numbers_), bind(y_, constant)}),
              RefusedSaying(kBadBinding, "'y' is written, but is bound as read-only"));
}

TEST_F(Bindings, AreRefusedWhereOneIsMissing) {
  EXPECT_THAT(run({bind(x_, x_numbers_), bind(w_, w_numbers_)}),
              RefusedSaying(kBadBinding, "3 inputs and outputs, but 2 bindings"));
}

TEST_F(Bindings, AreRefusedWhereThereAreNone) {
  EXPECT_THAT(run({}), RefusedSaying(kBadBinding, "3 inputs and outputs, but 0 bindings"));
}

TEST_F(Bindings, AreRefusedWhereOneIsThereTwice) {
  EXPECT_THAT(run({bind(x_, x_numbers_), bind(w_, w_numbers_), bind(w_, w_numbers_)}),
              RefusedSaying(kBadBinding, "'w' is bound twice"));
}

TEST_F(Bindings, OfAValueOfAnotherGraphAreRefused) {
  EXPECT_THAT(run({bind(ValueId{99}, x_numbers_), bind(w_, w_numbers_), bind(y_, y_numbers_)}),
              RefusedSaying(kBadBinding, "not in this graph"));
}

TEST_F(Bindings, OfAnInvalidIdAreRefused) {
  EXPECT_THAT(run({bind(ValueId{}, x_numbers_), bind(w_, w_numbers_), bind(y_, y_numbers_)}),
              RefusedSaying(kBadBinding, "not in this graph"));
}

TEST_F(Bindings, OfAValueInsideTheGraphAreRefused) {
  EXPECT_THAT(run({bind(u_, x_numbers_), bind(w_, w_numbers_), bind(y_, y_numbers_)}),
              RefusedSaying(kBadBinding, "'u' is neither input nor output"));
}

TEST_F(Bindings, OfAViewDoNotStandForAnOutput) {
  Numbers other = x_numbers_;
  EXPECT_THAT(run({bind(x_, x_numbers_), bind(w_, w_numbers_), bind(view_, other)}),
              RefusedBy(kBadBinding));
}

TEST_F(Bindings, OfTooFewRowsAreRefused) {
  EXPECT_THAT(
      run({bind(x_, std::span(x_numbers_).first(9)), bind(w_, w_numbers_), bind(y_, y_numbers_)}),
      RefusedSaying(kBadBinding, "'x' needs 96 bytes for this batch but is bound to 72"));
}

TEST_F(Bindings, OfTooManyRowsAreRefused) {
  Numbers longer(kNumbers + kColumns);
  EXPECT_THAT(run({bind(x_, x_numbers_), bind(w_, w_numbers_), bind(y_, longer)}),
              RefusedSaying(kBadBinding, "'y' needs 96 bytes for this batch but is bound to 120"));
}

TEST_F(Bindings, ToNullAreRefused) {
  EXPECT_THAT(run({{x_, nullptr, 96}, bind(w_, w_numbers_), bind(y_, y_numbers_)}),
              RefusedSaying(kBadBinding, "'x' is bound to null"));
}

TEST_F(Bindings, ThatOverlapAreRefusedWhereOneIsWritten) {
  Numbers shared(kNumbers + kColumns);
  EXPECT_THAT(run({bind(x_, std::span(shared).first(kNumbers)), bind(w_, w_numbers_),
                   bind(y_, std::span(shared).last(kNumbers))}),
              RefusedSaying(kBadBinding, "overlapping memory"));
}

TEST_F(Bindings, ThatTouchWithoutOverlapWork) {
  Numbers shared(2 * kNumbers);
  EXPECT_THAT(run({bind(x_, std::span(shared).first(kNumbers)), bind(w_, w_numbers_),
                   bind(y_, std::span(shared).last(kNumbers))}),
              Works());
}

TEST_F(Bindings, OfTheLastRunAreForgotten) {
  Program program = prepare(graph_, Sequential(), Split{{4}}, cpu_).value();
  Numbers before(kNumbers);
  const std::array first{bind(x_, x_numbers_), bind(w_, w_numbers_), bind(y_, before)};
  ASSERT_THAT(program.run(first), Works());
  const std::array second{bind(x_, x_numbers_), bind(w_, w_numbers_), bind(y_, y_numbers_)};
  ASSERT_THAT(program.run(second), Works());
  EXPECT_EQ(y_numbers_, before);
}

TEST(BindingsOfReaders, MayOverlapWhereNobodyWrites) {
  GraphBuilder builder;
  const ValueId a = builder.input("a", kRow);
  const ValueId b = builder.input("b", kRow);
  const ValueId y = builder.value("y", kRow);
  builder.op({.name = "add", .reads = {a, b}, .writes = {y}, .kernel = mix(1)});
  builder.output(y);
  CpuDevice cpu;
  Program program = prepare(builder.build().value(), Sequential(), Split{{4}}, cpu).value();
  Numbers numbers = input_for(4);
  Numbers out(kNumbers);
  const std::array bindings{bind(a, numbers), bind(b, numbers), bind(y, out)};
  EXPECT_THAT(program.run(bindings), Works());
}

TEST(BindingsOfNothing, MayBeNullWhereThereAreNoRows) {
  const Model model = three_in_a_row();
  CpuDevice cpu;
  Program program = prepare(model.graph, Sequential(), Split{{0}}, cpu).value();
  const std::array bindings{Binding{model.x, nullptr, 0}, Binding{model.y, nullptr, 0}};
  EXPECT_THAT(program.run(bindings), Works());
}

}  // namespace
}  // namespace dynaflow::testing
