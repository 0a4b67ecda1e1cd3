#include "dynaflow/placement/buffers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "dynaflow/dynaflow.h"
#include "support/findings.h"
#include "support/models.h"

namespace dynaflow::testing {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;

/// left and right read x, and join reads left's buffer where it should read right's.
TEST(RuleM1, RefusesAnOperandInTheBufferOfAnotherStorage) {
  const Graph graph = two_branches().graph;
  const Split split{{4}};
  const Plan plan = make_plan(graph, record(graph, Sequential(), split));
  const auto hb = HappensBefore::of(plan, graph).value();
  Buffers buffers = make_buffers(graph, plan, hb);
  const std::uint32_t first = plan.steps.back().operands.first;
  buffers.of_operand.at(first + 1) = buffers.of_operand.at(first);
  const Placement placement = make_placement(graph, plan, buffers, split).value();
  EXPECT_THAT(PlacementVerifier(graph, plan, buffers, hb).verify(placement),
              Contains(Broke(kLiveOverlap)));
}

/// Adds up all numbers of each column, over every row of everything read.
void sum_all(const KernelArgs& args) {
  std::vector<std::int64_t> sums(kColumns);
  for (std::size_t i = 0; i < args.reads; ++i) {
    for (std::int64_t row = 0; row < args.in(i).rows; ++row) {
      const auto numbers = args.in(i).row<std::int64_t>(row);
      for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += numbers[k] % 1000;
    }
  }
  std::ranges::copy(sums, args.out(0).row<std::int64_t>(0).begin());
}

/// Chains that all start at x and meet once, halfway, in an op over the whole batch.
class ManyChains : public ::testing::Test {
 protected:
  static constexpr int kChains = 40;
  static constexpr int kLength = 8;
  static constexpr std::int64_t kRows = 16;

  ManyChains() {
    GraphBuilder builder("many_chains");
    x_ = builder.input("x", kRow);
    std::vector<ValueId> ends;
    for (int i = 0; i < kChains; ++i) {
      ends.push_back(add_chain(builder, "a" + std::to_string(i), {x_}));
    }
    const ValueId met = builder.value("met", kTable);
    builder.op({.name = "meet",
                .reads = ends,
                .writes = {met},
                .coupling = Coupling::kCoupled,
                .kernel = sum_all});
    for (int i = 0; i < kChains; ++i) {
      builder.output(add_chain(builder, "b" + std::to_string(i), {x_, met}));
    }
    graph_ = std::make_shared<const Graph>(builder.build().value());
    placed_ = make_placed_plan(graph_, Branches(8, 8), split_).value();
    EXPECT_THAT(placed_->place(split_, {}, placement_), Works());
  }

  /// One op after the other; gives what the last one writes.
  static ValueId add_chain(GraphBuilder& builder, const std::string& name,
                           std::vector<ValueId> reads) {
    for (std::uint64_t i = 0; i < kLength; ++i) {
      const std::string here = name + "." + std::to_string(i);
      const ValueId next = builder.value("v" + here, kRow);
      builder.op({.name = here, .reads = reads, .writes = {next}, .kernel = mix(i)});
      reads = {next};
    }
    return reads.front();
  }

  /// All outputs of one run.
  [[nodiscard]] Result<std::vector<std::vector<std::int64_t>>> run(const OpScheduler& strategy) {
    CpuDevice cpu;
    const Split split = strategy.split({.rows = kRows});
    Program program =
        Program::make(make_placed_plan(graph_, strategy, split).value(), cpu, split).value();
    std::vector<std::int64_t> x = input_for(kRows);
    std::vector<std::vector<std::int64_t>> outputs(kChains, std::vector<std::int64_t>(x.size()));
    std::vector<Binding> bindings{bind(x_, x)};
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      bindings.push_back(bind(graph_->outputs()[i], outputs[i]));
    }
    const auto stats = program.run(bindings);
    if (!stats) return Unexpected(stats.error());
    return outputs;
  }

  ValueId x_;
  Split split_ = Branches(8, 8).split({.rows = kRows});
  std::shared_ptr<const Graph> graph_;
  std::shared_ptr<const PlacedPlan> placed_;
  Placement placement_;
};

TEST_F(ManyChains, AreTooManyForPairs) { EXPECT_THAT(placed_->buffers().retired, Not(IsEmpty())); }

TEST_F(ManyChains, PassTheVerifier) {
  EXPECT_THAT(
      PlacementVerifier(*graph_, placed_->plan(), placed_->buffers(), placed_->happens_before())
          .verify(placement_),
      IsEmpty());
}

TEST_F(ManyChains, HaveNoHazard) {
  EXPECT_EQ(find_hazards(*graph_, placed_->plan(), placed_->buffers(), placement_,
                         placed_->happens_before())
                .size(),
            0U);
}

TEST_F(ManyChains, ReuseTheMemoryOfTheFirstHalf) {
  std::int64_t apart = 0;
  for (const BufferId buffer : placed_->buffers().arena) {
    apart += placement_.sizes[buffer.index];
  }
  EXPECT_LT(placement_.arena_bytes, apart);
}

TEST_F(ManyChains, GiveWhatThePlainModelGives) {
  EXPECT_EQ(run(Branches(8, 8)).value(), run(Sequential()).value());
}

}  // namespace
}  // namespace dynaflow::testing
