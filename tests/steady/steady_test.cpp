// After the first run of a batch, a run allocates nothing and copies nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

#include "dynaflow/dynaflow.h"
#include "steady/counters.h"
#include "support/models.h"
#include "support/scripted.h"

namespace dynaflow::testing {
namespace {

constexpr int kRuns = 100;

/// Two lanes and four micro-batches: single steps, pairs merged, everything merged.
void merge_here_and_there(ScheduleContext& ctx) {
  const std::array lanes{ctx.lane("compute"), ctx.lane("network")};
  for (std::size_t turn = 0; ctx.unfinished(); ++turn) {
    const auto ready = ctx.get_ready_ops();
    std::vector<ReadyOp> same;
    for (const ReadyOp& op : ready) {
      if (op.id() == ready.front().id()) same.push_back(op);
    }
    const std::size_t parts = turn % 3 == 0 ? 1 : turn % 3 == 1 ? same.size() : 2;
    if (same.size() > parts) same.resize(parts);
    const std::size_t lane = same.front().has_tag("network") ? 1 : turn % 2;
    ctx.execute(same, {.lane = lanes[lane]});
  }
}

std::shared_ptr<const OpScheduler> in_four() {
  return scripted(merge_here_and_there, [](const Batch& batch) { return batch.even(4); });
}

/// What `kRuns` runs of a warm CompiledGraph allocate and copy.
Counts counts_of_steady_runs(const Model& model, const std::shared_ptr<const OpScheduler>& strategy,
                             const std::vector<Batch>& batches) {
  CpuDevice cpu;
  CompiledGraph compiled(model.graph, strategy, cpu);
  const std::vector<std::int64_t> x = input_for(64);
  std::vector<std::int64_t> y(output_size(model, 64));
  int failures = 0;
  const auto run_all = [&] {
    for (const Batch& batch : batches) {
      const auto rows = static_cast<std::size_t>(batch.rows);
      const std::array bindings{bind(model.x, std::span(x).first(rows * kColumns)),
                                bind(model.y, std::span(y).first(output_size(model, batch.rows)))};
      if (!compiled.run(batch, bindings)) ++failures;
    }
  };
  run_all();
  start_counting();
  for (int i = 0; i < kRuns; ++i) run_all();
  const Counts counts = stop_counting();
  EXPECT_EQ(failures, 0);
  return counts;
}

TEST(SteadyState, MergesSomewhereInThisPlan) {
  const Model model = two_layers();
  const auto placed = make_placed_plan(std::make_shared<const Graph>(model.graph), *in_four(),
                                       Split{{16, 16, 16, 16}});
  const auto merged = [](const Step& step) { return step.microbatches.count() > 1; };
  EXPECT_GE(std::ranges::count_if(placed.value()->plan().steps, merged), 4);
}

TEST(SteadyState, AllocatesNothing) {
  EXPECT_EQ(counts_of_steady_runs(two_layers(), in_four(), {{.rows = 64}}).allocations, 0);
}

TEST(SteadyState, CopiesNothing) {
  EXPECT_EQ(counts_of_steady_runs(two_layers(), in_four(), {{.rows = 64}}).copied_bytes, 0);
}

TEST(SteadyState, AllocatesNothingForSumsAndCoupledOps) {
  EXPECT_EQ(counts_of_steady_runs(with_sum(), in_four(), {{.rows = 64}}).allocations, 0);
}

TEST(SteadyState, CopiesNothingForSumsAndCoupledOps) {
  EXPECT_EQ(counts_of_steady_runs(with_sum(), in_four(), {{.rows = 64}}).copied_bytes, 0);
}

TEST(SteadyState, AllocatesNothingWhileKnownBatchesAlternate) {
  const std::vector<Batch> batches{{.rows = 64},
                                   {.rows = 3},
                                   {.rows = 40, .requests = {10, 30}},
                                   {.rows = 40, .facts = {{"decode", 1}}}};
  EXPECT_EQ(counts_of_steady_runs(two_layers(), in_four(), batches).allocations, 0);
}

TEST(SteadyState, CopiesNothingWhileKnownBatchesAlternate) {
  EXPECT_EQ(
      counts_of_steady_runs(two_layers(), in_four(), {{.rows = 64}, {.rows = 3}}).copied_bytes, 0);
}

}  // namespace
}  // namespace dynaflow::testing
