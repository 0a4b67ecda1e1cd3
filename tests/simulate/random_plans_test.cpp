#include <gtest/gtest.h>

#include <algorithm>

#include "simulate/random_sketch.h"

namespace dynaflow {
namespace {

std::int64_t alone_ns(const Sketch& sketch, const Job& job) {
  std::int64_t rows = 0;
  for (const Microbatch mb : job.microbatches) rows += sketch.rows[mb.index];
  return sketch.costs.step_ns + job.fixed_ns + job.row_ns * rows;
}

/// The longest path through the jobs, which are listed after what they wait for.
std::int64_t critical_path_ns(const Sketch& sketch) {
  std::vector<std::int64_t> ends;
  std::vector<std::int64_t> lane_ends(4);
  for (const Job& job : sketch.jobs) {
    std::int64_t begin = lane_ends[job.lane];
    for (const std::uint32_t earlier : job.after) {
      const std::int64_t released = ends[earlier];
      if (released > lane_ends[job.lane]) {
        begin = std::max(begin, released + sketch.costs.handoff_ns);
      }
    }
    ends.push_back(begin + alone_ns(sketch, job));
    lane_ends[job.lane] = ends.back();
  }
  return *std::max_element(lane_ends.begin(), lane_ends.end());
}

void expect_order_kept(const Sketch& sketch, const Timeline& timeline) {
  std::vector<std::int64_t> lane_ends(4);
  for (std::uint32_t i = 0; i < sketch.jobs.size(); ++i) {
    const Job& job = sketch.jobs[i];
    EXPECT_GE(begin_of(timeline, i), lane_ends[job.lane]);
    EXPECT_GE(end_of(timeline, i) - begin_of(timeline, i), alone_ns(sketch, job));
    for (const std::uint32_t earlier : job.after) {
      EXPECT_GE(begin_of(timeline, i), end_of(timeline, earlier));
    }
    lane_ends[job.lane] = end_of(timeline, i);
  }
}

class SimulateRandomPlans : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kSeeds = 200;
};

TEST_F(SimulateRandomPlans, TakeTheirCriticalPathWhereNothingSlowsDown) {
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    const Sketch sketch = random_sketch(seed);
    EXPECT_EQ(run(sketch).total_ns, critical_path_ns(sketch)) << "seed " << seed;
  }
}

TEST_F(SimulateRandomPlans, KeepLanesAndWaitsWhateverTheSlowdowns) {
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const Sketch sketch = with_random_slowdowns(random_sketch(seed), seed);
    expect_order_kept(sketch, run(sketch));
  }
}

TEST_F(SimulateRandomPlans, GiveTheSameResultTwice) {
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    const Sketch sketch = with_random_slowdowns(random_sketch(seed), seed);
    EXPECT_EQ(to_chrome_trace(run(sketch)), to_chrome_trace(run(sketch))) << "seed " << seed;
  }
}

}  // namespace
}  // namespace dynaflow
