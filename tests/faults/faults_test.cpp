// A failure ends the run, not the process: at every step of a set of plans, on every kind of
// device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <latch>
#include <stdexcept>
#include <string>

#include "dynaflow/dynaflow.h"
#include "support/memory_image.h"
#include "support/queue_device.h"
#include "support/random_graph.h"
#include "support/random_strategy.h"

namespace dynaflow::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kPlans = 60;
const RandomStrategyOptions kOptions{.max_lanes = 3, .max_microbatches = 4, .allow_empty = false};

/// A random graph, bound and ready to run, with what a good run must leave behind.
struct Prepared {
  Prepared(std::uint64_t seed_, Device& device)
      : seed(seed_),
        random(seed_),
        made(random_graph(random, static_cast<int>(pick(random, 2, 9)))),
        rows(pick(random, 1, 9)),
        strategy(made.graph, seed, kOptions),
        split(strategy.split({.rows = rows})),
        program(Program::make(
                    make_placed_plan(std::make_shared<const Graph>(made.graph), strategy, split)
                        .value(),
                    device, split, made.symbols)
                    .value()),
        expected(reference_run(made, rows, seed)) {}

  Result<Stats> run(Outcome& got, const RunOptions& options = {}) {
    made.world->world = &got.world;
    return program.run(got.memory.bindings(made.graph), options);
  }
  [[nodiscard]] Outcome fresh() const {
    return {MemoryImage(made, rows, seed),
            World(made.graph.states().size(), made.graph.ops().size(), rows)};
  }
  void expect_right() {
    made.world->before = nullptr;
    Outcome got = fresh();
    const auto stats = run(got);
    ASSERT_TRUE(stats.has_value()) << to_string(stats.error());
    EXPECT_TRUE(got == expected);
  }

  std::uint64_t seed;
  Random random;
  RandomGraph made;
  std::int64_t rows;
  RandomStrategy strategy;
  Split split;
  Program program;
  Outcome expected;
};

/// Every step of the plan fails once; after each failure the next run is right.
std::uint64_t fail_at_every_step(std::uint64_t seed, Device& device) {
  Prepared prepared(seed, device);
  const Plan& plan = prepared.program.plan();
  for (const Step& step : plan.steps) {
    const std::size_t op = plan.ops(step).back().index;
    const RowRange rows = prepared.program.placement().rows(step.microbatches);
    prepared.made.world->before = [&](std::size_t at, RowRange here) {
      if (at == op && here.first == rows.first) throw std::runtime_error("injected");
    };
    Outcome got = prepared.fresh();
    const auto stats = prepared.run(got);
    EXPECT_FALSE(stats.has_value()) << "seed " << seed;
    if (stats.has_value()) return 0;
    const std::string text = to_string(stats.error());
    EXPECT_TRUE(stats.error().broke(kBodyFailed));
    EXPECT_THAT(text, HasSubstr(describe(prepared.made.graph, plan, step)));
    EXPECT_THAT(text, HasSubstr("lane " + plan.lanes[step.lane.index].name));
    EXPECT_THAT(text, HasSubstr("injected"));
    prepared.expect_right();
  }
  return plan.steps.size();
}

void fail_everywhere(Device& device) {
  std::uint64_t steps = 0;
  for (std::uint64_t seed = 1; seed <= kPlans && !::testing::Test::HasFailure(); ++seed) {
    steps += fail_at_every_step(seed, device);
  }
  std::printf("%llu plans, a fault at each of %llu steps on %s\n",
              static_cast<unsigned long long>(kPlans), static_cast<unsigned long long>(steps),
              std::string(device.name()).c_str());
}

TEST(Faults, AKernelThatThrowsIsNamedAndTheNextRunIsRightOnCpuLanes) {
  CpuDevice device;
  fail_everywhere(device);
}

TEST(Faults, AKernelThatThrowsIsNamedAndTheNextRunIsRightWithTheFirstLaneOnItsOwnThread) {
  CpuDevice device({.first_lane = FirstLane::kOwnThread});
  fail_everywhere(device);
}

TEST(Faults, AKernelThatThrowsIsNamedAndTheNextRunIsRightOnAnIssuingDevice) {
  QueueDevice device;
  fail_everywhere(device);
}

/// Once the step that hung has returned, its lane comes back; until then runs are refused at once.
void expect_right_again(Prepared& prepared) {
  for (;;) {
    Outcome got = prepared.fresh();
    const auto stats = prepared.run(got);
    if (!stats && stats.error().broke(kLaneLost)) continue;
    ASSERT_TRUE(stats.has_value()) << to_string(stats.error());
    EXPECT_TRUE(got == prepared.expected);
    return;
  }
}

/// A kernel that never returns, at every step of some plans: the watchdog speaks up.
void hang_everywhere(Device& device, std::uint64_t plans) {
  RunOptions options;
  options.watch.stall_after = std::chrono::milliseconds(40);
  std::uint64_t steps = 0;
  for (std::uint64_t seed = 1; seed <= plans && !::testing::Test::HasFailure(); ++seed) {
    Prepared prepared(seed, device);
    const Plan& plan = prepared.program.plan();
    for (const Step& step : plan.steps) {
      const std::size_t op = plan.ops(step).back().index;
      const RowRange rows = prepared.program.placement().rows(step.microbatches);
      std::latch release(1);
      std::atomic<bool> armed{true};
      prepared.made.world->before = [&](std::size_t at, RowRange here) {
        if (at != op || here.first != rows.first || !armed.exchange(false)) return;
        release.wait();
        throw std::runtime_error("released");
      };
      Outcome got = prepared.fresh();
      const auto stats = prepared.run(got, options);
      ASSERT_FALSE(stats.has_value());
      EXPECT_TRUE(stats.error().broke(kStalled));
      EXPECT_THAT(to_string(stats.error()), HasSubstr(describe(prepared.made.graph, plan, step)));
      release.count_down();
      expect_right_again(prepared);
      ++steps;
    }
  }
  std::printf("%llu steps that hang on %s\n", static_cast<unsigned long long>(steps),
              std::string(device.name()).c_str());
}

TEST(Faults, AKernelThatNeverReturnsBecomesAnErrorWithTheWaitForGraph) {
  CpuDevice device({.first_lane = FirstLane::kOwnThread});
  hang_everywhere(device, 4);
}

}  // namespace
}  // namespace dynaflow::testing
