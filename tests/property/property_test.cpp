// Random graphs under random legal schedules equal the plain sequential run, bit for bit.
// Set DYNAFLOW_SEED to replay one case, DYNAFLOW_CASES to run more or fewer.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "dynaflow/dynaflow.h"
#include "support/memory_image.h"
#include "support/queue_device.h"
#include "support/random_graph.h"
#include "support/random_strategy.h"
#include "support/sanitized.h"

namespace dynaflow::testing {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

constexpr std::uint64_t kCases = kSanitized ? 1500 : 10000;

struct Tally {
  std::uint64_t cases = 0, steps = 0, waits = 0, merged = 0, replaced = 0, empty = 0;
  std::uint64_t symbolic = 0, inside = 0, bodies = 0;
};

Costs some_costs(const Graph& graph, Random& random) {
  Costs costs;
  for (std::size_t i = 0; i < graph.ops().size(); ++i) {
    costs.ops.push_back({pick(random, 0, 1000), pick(random, 0, 100)});
  }
  costs.slowdown[0][0] = 1.5;
  return costs;
}

class RandomCases : public ::testing::Test {
 protected:
  /// One case: everything follows from the seed.
  void run(std::uint64_t seed, Device& device) {
    SCOPED_TRACE("replay with DYNAFLOW_SEED=" + std::to_string(seed));
    Random random(seed);
    RandomGraph made = random_graph(random, static_cast<int>(pick(random, 2, 14)));
    const Batch batch{.rows = pick(random, 0, 14)};
    const auto shared = std::make_shared<const Graph>(made.graph);
    const RandomStrategy on_shared(*shared, seed);
    const Split split = on_shared.split(batch);
    const auto placed = make_placed_plan(shared, on_shared, split);
    ASSERT_TRUE(placed.has_value()) << to_string(placed.error());
    auto program = Program::make(*placed, device, split, made.symbols);
    ASSERT_TRUE(program.has_value()) << to_string(program.error());
    expect_right(made, *program, batch.rows, seed);
    if (!made.symbols.empty()) {  // the same plan for other sizes
      made.symbols = some_symbols(made.graph, random);
      const auto bound = program->rebind(split, made.symbols);
      ASSERT_TRUE(bound.has_value()) << to_string(bound.error());
      expect_right(made, *program, batch.rows, seed);
    }
    count(program->plan(), split, made.graph);
  }

  static void expect_right(const RandomGraph& made, Program& program, std::int64_t rows,
                           std::uint64_t seed) {
    Random random(seed);
    expect_no_race(program, random);
    const Outcome expected = reference_run(made, rows, seed);
    for (int again = 0; again < 2; ++again) expect_equal(made, program, rows, seed, expected);
  }

  static void expect_no_race(const Program& program, Random& random) {
    const PlacedPlan& placed = program.placed_plan();
    const auto simulated = simulate(placed.graph(), placed.plan(), placed.buffers(),
                                    program.placement(), some_costs(placed.graph(), random));
    ASSERT_TRUE(simulated.has_value()) << to_string(simulated.error());
    for (const Hazard& hazard : simulated->races) {
      ADD_FAILURE() << describe(placed.graph(), placed.plan(), hazard);
    }
  }

  static void expect_equal(const RandomGraph& made, Program& program, std::int64_t rows,
                           std::uint64_t seed, const Outcome& expected) {
    const Graph& graph = program.placed_plan().graph();
    Outcome got{MemoryImage(made, rows, seed),
                World(graph.states().size(), graph.ops().size(), rows)};
    made.world->world = &got.world;
    const auto stats = program.run(got.memory.bindings(graph));
    ASSERT_TRUE(stats.has_value()) << to_string(stats.error());
    EXPECT_TRUE(got.world == expected.world);
    EXPECT_TRUE(got.memory == expected.memory);
  }

  void count(const Plan& plan, const Split& split, const Graph& graph) {
    ++tally_.cases;
    tally_.symbolic += graph.symbols().empty() ? 0 : 1;
    for (const Storage& storage : graph.storages()) tally_.inside += storage.blocks != 1 ? 1 : 0;
    tally_.steps += plan.steps.size();
    tally_.waits += plan.step_waits.size();
    for (const Step& step : plan.steps) {
      if (step.microbatches.count() > 1) ++tally_.merged;
      if (step.replacement != kNoReplacement) ++tally_.replaced;
      if (body_of(graph, plan, step) != nullptr) ++tally_.bodies;
    }
    for (const std::int64_t size : split.sizes) tally_.empty += size == 0 ? 1 : 0;
  }

  void run_all(Device& device, std::uint64_t cases) {
    const std::uint64_t only = from_environment("DYNAFLOW_SEED", 0);
    const std::uint64_t first = only != 0 ? only : 1;
    const std::uint64_t last = only != 0 ? only : from_environment("DYNAFLOW_CASES", cases);
    for (std::uint64_t seed = first; seed <= last && !HasFailure(); ++seed) run(seed, device);
    std::printf(
        "%llu cases on %s: %llu steps (%llu merged, %llu replaced), %llu waits, %llu empty\n",
        static_cast<unsigned long long>(tally_.cases), std::string(device.name()).c_str(),
        static_cast<unsigned long long>(tally_.steps),
        static_cast<unsigned long long>(tally_.merged),
        static_cast<unsigned long long>(tally_.replaced),
        static_cast<unsigned long long>(tally_.waits),
        static_cast<unsigned long long>(tally_.empty));
    std::printf("  %llu with symbols, %llu values with the batch inside, %llu bodies\n",
                static_cast<unsigned long long>(tally_.symbolic),
                static_cast<unsigned long long>(tally_.inside),
                static_cast<unsigned long long>(tally_.bodies));
  }

  Tally tally_;
};

TEST_F(RandomCases, EqualTheSequentialRunOnCpuLanes) {
  CpuDevice device;
  run_all(device, kCases);
}

TEST_F(RandomCases, EqualTheSequentialRunOnAnIssuingDevice) {
  QueueDevice device;
  run_all(device, kCases / 10);
}

}  // namespace
}  // namespace dynaflow::testing
