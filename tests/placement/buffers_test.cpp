#include "dynaflow/placement/buffers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  const Placement placement = make_placement(graph, plan, buffers, split);
  EXPECT_THAT(PlacementVerifier(graph, plan, buffers, hb).verify(placement),
              Contains(Broke(kLiveOverlap)));
}

/// Chains that all start at x and have nothing else in common, each with an output.
class ManyChains : public ::testing::Test {
 protected:
  static constexpr int kChains = 40;
  static constexpr int kLength = 8;

  ManyChains() {
    GraphBuilder builder("many_chains");
    x_ = builder.input("x", kRow);
    for (int chain = 0; chain < kChains; ++chain) {
      ValueId last = x_;
      for (int i = 0; i < kLength; ++i) {
        const std::string name = std::to_string(chain) + "." + std::to_string(i);
        const ValueId next = builder.value("v" + name, kRow);
        const auto salt = static_cast<std::uint64_t>(chain * kLength + i);
        builder.op({.name = name, .reads = {last}, .writes = {next}, .kernel = mix(salt)});
        last = next;
      }
      builder.output(last);
    }
    graph_ = std::make_shared<const Graph>(builder.build().value());
    placed_ = make_placed_plan(graph_, Branches(8, 8), split_).value();
    EXPECT_THAT(placed_->place(split_, placement_), Works());
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

  static constexpr std::int64_t kRows = 16;
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

TEST_F(ManyChains, ReuseSomeMemory) {
  std::int64_t apart = 0;
  for (const BufferId buffer : placed_->buffers().arena) {
    apart += (placement_.sizes[buffer.index] + 63) / 64 * 64;
  }
  EXPECT_LT(placement_.arena_bytes, apart);
}

TEST_F(ManyChains, GiveWhatThePlainModelGives) {
  EXPECT_EQ(run(Branches(8, 8)), run(Sequential()));
}

}  // namespace
}  // namespace dynaflow::testing
