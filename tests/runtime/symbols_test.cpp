// One Program for many values of a symbol, and for a batch that is not outermost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "dynaflow/dynaflow.h"
#include "support/counting_body.h"
#include "support/findings.h"
#include "support/models.h"
#include "support/scripted.h"

namespace dynaflow::testing {
namespace {

using ::testing::ElementsAre;

using Numbers = std::vector<std::int64_t>;

/// y = x + 1, with `length` numbers a row that stand sequence-first: length × rows.
class SequenceFirst : public ::testing::Test {
 protected:
  SequenceFirst() {
    GraphBuilder builder;
    const SymbolId length = builder.symbol("length");
    const auto row = [&](const char* name) {
      return ValueSpec{.name = name, .type = {Kind::kSplit, DType::kI64, length}, .blocks = length};
    };
    x_ = builder.input(row("x"));
    const ValueId u = builder.value(row("u"));
    y_ = builder.value(row("y"));
    const auto body = std::make_shared<CountingBody>([this](const KernelArgs& args) {
      lengths_.push_back(args.symbols[0]);
      for (std::int64_t block = 0; block < args.in(0).blocks; ++block) {
        for (std::int64_t row_of = 0; row_of < args.rows.count; ++row_of) {
          args.out(0).row<std::int64_t>(row_of, block)[0] =
              args.in(0).row<std::int64_t>(row_of, block)[0] + 1;
        }
      }
    });
    builder.op({.name = "first", .reads = {x_}, .writes = {u}, .body = body});
    builder.op({.name = "second", .reads = {u}, .writes = {y_}, .body = body});
    builder.output(y_);
    graph_ = builder.build().value();
  }

  /// y for x = 0, 1, 2…
  Result<Numbers> run(CompiledGraph& compiled, const Batch& batch, std::int64_t length) {
    Numbers x(static_cast<std::size_t>(batch.rows * length));
    std::iota(x.begin(), x.end(), 0);
    Numbers y(x.size(), -1);
    const auto stats = compiled.run(batch, std::array{bind(x_, x), bind(y_, y)});
    if (!stats) return Unexpected(stats.error());
    return y;
  }

  Graph graph_;
  ValueId x_;
  ValueId y_;
  Numbers lengths_;
  CpuDevice cpu_;
};

TEST_F(SequenceFirst, RunsOnSomeRowsOfEveryBlock) {
  CompiledGraph compiled(graph_, std::make_shared<Sequential>(2), cpu_);
  EXPECT_EQ(run(compiled, {.rows = 3, .symbols = {2}}, 2), (Numbers{2, 3, 4, 5, 6, 7}));
}

TEST_F(SequenceFirst, TellsBodiesTheSymbols) {
  CompiledGraph compiled(graph_, std::make_shared<Sequential>(), cpu_);
  ASSERT_THAT(run(compiled, {.rows = 3, .symbols = {2}}, 2), Works());
  EXPECT_THAT(lengths_, ElementsAre(2, 2));
}

TEST_F(SequenceFirst, RecordsOnceForAllLengths) {
  CompiledGraph compiled(graph_, std::make_shared<Sequential>(2), cpu_);
  for (const std::int64_t length : {1, 4, 2, 4, 0}) {
    ASSERT_THAT(run(compiled, {.rows = 3, .symbols = {length}}, length), Works());
  }
  EXPECT_EQ(compiled.stats().recordings, 1U);
  EXPECT_EQ(compiled.stats().bindings, 4U);
}

TEST_F(SequenceFirst, IsSplitAnewForAnotherLength) {
  CompiledGraph compiled(graph_, std::make_shared<Sequential>(2), cpu_);
  for (const std::int64_t length : {1, 4, 4}) {
    ASSERT_THAT(run(compiled, {.rows = 3, .symbols = {length}}, length), Works());
  }
  EXPECT_EQ(compiled.stats().splits, 2U);
}

TEST_F(SequenceFirst, NeedsALength) {
  CompiledGraph compiled(graph_, std::make_shared<Sequential>(2), cpu_);
  EXPECT_THAT(run(compiled, {.rows = 3}, 2),
              RefusedSaying(kBadBinding, "1 symbols, but the batch gives 0"));
}

TEST_F(SequenceFirst, RefusesANegativeLength) {
  CompiledGraph compiled(graph_, std::make_shared<Sequential>(2), cpu_);
  EXPECT_THAT(run(compiled, {.rows = 3, .symbols = {-2}}, 2),
              RefusedSaying(kBadBinding, "'length' is -2"));
}

TEST_F(SequenceFirst, RefusesMemoryOfAnotherLength) {
  CompiledGraph compiled(graph_, std::make_shared<Sequential>(2), cpu_);
  EXPECT_THAT(run(compiled, {.rows = 3, .symbols = {3}}, 2),
              RefusedSaying(kBadBinding, "needs 72 bytes for this batch but is bound to 48"));
}

}  // namespace
}  // namespace dynaflow::testing
