#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "explain/timelines.h"
#include "simulate/random_sketch.h"

// What holds of every explanation, whatever the plan and its costs.
namespace dynaflow {
namespace {

constexpr std::uint32_t kSeeds = 500;

/// As a device would have measured it: the run starts and ends a little apart from its steps.
Timeline measured(Timeline timeline, std::uint32_t seed) {
  const std::int64_t entry = seed % 50;
  for (Timeline::Span& span : timeline.spans) {
    span.begin_ns += entry;
    span.end_ns += entry;
  }
  timeline.total_ns += entry + seed % 70;
  return timeline;
}

/// No run at all: any times, any waits.
Timeline nonsense(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t bound) {
    return static_cast<std::uint32_t>(random() % bound);
  };
  Timeline timeline{{"a", "b", "c"}, {}, below(200)};
  for (std::uint32_t i = 0, count = below(20); i < count; ++i) {
    timeline.spans.push_back(compute(i, below(3), "op." + std::to_string(i),
                                     std::int64_t{below(300)} - 50, std::int64_t{below(300)} - 50,
                                     {{below(5), below(8)}, {below(5), below(8)}}));
    timeline.spans.back().cost = static_cast<CostClass>(below(3));
  }
  return timeline;
}

void expect_exact_sums(const Explanation& explanation) {
  for (const Explanation::Lane& lane : explanation.lanes) {
    EXPECT_EQ(lane.busy.total_ns() + lane.waited.total_ns() + lane.tail_ns + lane.host_ns,
              explanation.total_ns);
    std::int64_t waited = 0;
    for (const Explanation::Awaited& each : lane.waited_for) waited += each.ns;
    EXPECT_EQ(waited, lane.waited.total_ns());
    EXPECT_LE(lane.queued_ns, explanation.total_ns);
  }
  const Explanation::Path& path = explanation.path;
  std::int64_t along = path.end_ns;
  for (const Explanation::PathStep& step : path.steps) along += step.gap_ns + step.ns;
  EXPECT_EQ(along, explanation.total_ns);
  EXPECT_EQ(path.busy.total_ns() + path.host_ns, explanation.total_ns);
}

void expect_bounds(const Explanation& explanation) {
  EXPECT_LE(explanation.bound.ns, explanation.total_ns);
  EXPECT_LE(explanation.share(), 1);
  EXPECT_LE(explanation.exposed_ns, explanation.network_ns);
  std::int64_t network = 0;
  for (const Explanation::Lane& lane : explanation.lanes) network += lane.busy.network_ns;
  EXPECT_LE(explanation.network_ns, network);
}

/// Whether the plan makes `later` wait for `earlier`, by a wait or as its successor on the lane.
bool follows(const Plan& plan, StepId earlier, StepId later) {
  const Step& before = plan.steps[earlier.index];
  const Step& after = plan.steps[later.index];
  if (before.lane == after.lane) return before.position + 1 == after.position;
  const auto waits = plan.waits(after);
  return std::ranges::find(waits, Wait{before.lane.index, before.position + 1}) != waits.end();
}

void expect_valid_path(const Sketch& sketch, const Explanation& explanation) {
  const Plan plan = plan_of(sketch);
  const auto& steps = explanation.path.steps;
  EXPECT_EQ(steps.empty(), sketch.jobs.empty());
  for (std::size_t i = 1; i < steps.size(); ++i) {
    EXPECT_TRUE(follows(plan, steps[i - 1].step, steps[i].step)) << steps[i].label;
  }
}

/// What the bound promises: even with as many lanes as steps the chain takes its time.
std::int64_t on_lanes_for_all(Sketch sketch) {
  for (std::size_t i = 0; i < sketch.jobs.size(); ++i) {
    sketch.jobs[i].lane = static_cast<std::uint32_t>(i);
  }
  sketch.costs.handoff_ns = 0;
  return run(sketch).total_ns;
}

TEST(ExplainRandomPlans, AddsUpExactly) {
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const Sketch sketch = with_random_slowdowns(random_sketch(seed), seed);
    const Explanation explanation = explain(measured(run(sketch), seed));
    expect_exact_sums(explanation);
    expect_bounds(explanation);
    expect_valid_path(sketch, explanation);
  }
}

TEST(ExplainRandomPlans, BoundIsWhatLanesForAllOrTheBusiestLaneTake) {
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const Sketch sketch = random_sketch(seed);
    const Timeline timeline = run(sketch);
    std::int64_t busiest = 0;
    for (std::size_t i = 0; i < timeline.lanes.size(); ++i) {
      busiest = std::max(busiest, busy_ns(timeline, id_at<LaneId>(i)));
    }
    EXPECT_EQ(explain(timeline).bound.ns, std::max(busiest, on_lanes_for_all(sketch)));
  }
}

TEST(ExplainRandomPlans, SeesHostTimeOnlyWhereAHandoffCosts) {
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    Sketch sketch = random_sketch(seed);
    sketch.costs.handoff_ns = 0;
    EXPECT_EQ(explain(run(sketch)).path.host_ns, 0) << "seed " << seed;
  }
}

TEST(ExplainRandomPlans, SaysTheSameOfASavedRun) {
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    const Timeline timeline = run(random_sketch(seed));
    const auto read = from_chrome_trace(to_chrome_trace(timeline));
    EXPECT_EQ(read.value(), timeline) << "seed " << seed;
    EXPECT_EQ(to_string(explain(read.value())), to_string(explain(timeline))) << "seed " << seed;
  }
}

TEST(ExplainNonsense, StillAddsUpExactly) {
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const Explanation explanation = explain(nonsense(seed));
    expect_exact_sums(explanation);
    EXPECT_LE(explanation.bound.ns, explanation.total_ns);
    EXPECT_FALSE(to_string(explanation).empty());
  }
}

}  // namespace
}  // namespace dynaflow
