// A body, a strategy or a stall's observer that uses the graph it is part of is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "dynaflow/dynaflow.h"
#include "support/findings.h"
#include "support/scripted.h"

namespace dynaflow::testing {
namespace {

/// A graph of one op, whose body does this.
Graph with_body(std::function<void()> body) {
  GraphBuilder builder;
  builder.op({.name = "only", .kernel = [body = std::move(body)](const KernelArgs&) { body(); }});
  return builder.build().value();
}

/// A graph on a CPU of its own, whose strategy uses it while it plans.
class SelfUse : public ::testing::Test {
 protected:
  using Use = std::function<void(CompiledGraph&)>;

  void while_splitting(const Use& use) {
    plan([](ScheduleContext& ctx) { finish(ctx); },
         [this, use](const Batch& batch) {
           use(*graph_);
           return batch.whole();
         });
  }
  void while_scheduling(const Use& use) {
    plan(
        [this, use](ScheduleContext& ctx) {
          use(*graph_);
          finish(ctx);
        },
        in_halves);
  }

 private:
  void plan(Recorder recorder, Splitter splitter) {
    graph_ = std::make_unique<CompiledGraph>(
        with_body([] {}), scripted(std::move(recorder), std::move(splitter)), cpu_);
    EXPECT_THAT(graph_->run({.rows = 4}, {}), Works());
  }

  CpuDevice cpu_;
  std::unique_ptr<CompiledGraph> graph_;
};

void expect_run_is_refused(CompiledGraph& graph) {
  EXPECT_THAT(graph.run({.rows = 4}, {}), RefusedBy(kReentry));
}

void expect_program_is_refused(CompiledGraph& graph) {
  EXPECT_THAT(graph.program({.rows = 4}), RefusedBy(kReentry));
}

TEST_F(SelfUse, IsRefusedForARunWhileSplitting) { while_splitting(expect_run_is_refused); }

TEST_F(SelfUse, IsRefusedForAProgramWhileSplitting) { while_splitting(expect_program_is_refused); }

TEST_F(SelfUse, IsRefusedForARunWhileScheduling) { while_scheduling(expect_run_is_refused); }

TEST_F(SelfUse, IsRefusedForAProgramWhileScheduling) {
  while_scheduling(expect_program_is_refused);
}

TEST_F(SelfUse, IsFineForStatsWhileSplitting) {
  while_splitting([](CompiledGraph& graph) { EXPECT_EQ(graph.stats().recordings, 0U); });
}

TEST(CompiledReentry, IsRefusedForAGraphThatAnotherThreadRuns) {
  CpuDevice cpu;
  CompiledGraph inner(with_body([] {}), std::make_shared<Sequential>(), cpu);
  std::atomic<bool> inside{false};
  std::atomic<bool> done{false};
  Result<Stats> refused;
  CompiledGraph outer(with_body([&] {
                        inside = true;
                        for (int i = 0; i < 1000; ++i) {
                          refused = inner.run({.rows = 4}, {});
                          std::this_thread::yield();
                        }
                      }),
                      std::make_shared<Sequential>(), cpu);
  std::thread other([&] {
    while (!inside) std::this_thread::yield();
    while (!done) EXPECT_THAT(inner.run({.rows = 4}, {}), Works());
  });
  EXPECT_THAT(outer.run({.rows = 4}, {}), Works());
  done = true;
  other.join();
  EXPECT_THAT(refused, RefusedBy(kReentry));
}

TEST(CompiledReentry, IsRefusedByWayOfAnotherDevice) {
  CpuDevice near;
  CpuDevice far;
  CompiledGraph* self = nullptr;
  Result<Stats> refused;
  CompiledGraph inner(with_body([&] { refused = self->run({.rows = 4}, {}); }),
                      std::make_shared<Sequential>(), far);
  CompiledGraph outer(with_body([&] { EXPECT_THAT(inner.run({.rows = 4}, {}), Works()); }),
                      std::make_shared<Sequential>(), near);
  self = &outer;
  ASSERT_THAT(outer.run({.rows = 4}, {}), Works());
  EXPECT_THAT(refused, RefusedBy(kReentry));
}

TEST(CompiledReentry, IsRefusedFromOnStall) {
  CpuDevice cpu;
  std::atomic<bool> reported{false};
  CompiledGraph graph(with_body([&] {
                        while (!reported) std::this_thread::yield();
                      }),
                      std::make_shared<Sequential>(), cpu);
  Result<Stats> refused;
  RunOptions options;
  options.watch.stall_after = std::chrono::milliseconds(50);
  options.watch.on_stall = [&](const Diagnostic&) {
    refused = graph.run({.rows = 4}, {});
    reported = true;
  };
  ASSERT_THAT(graph.run({.rows = 4}, {}, options), RefusedBy(kStalled));
  EXPECT_THAT(refused, RefusedBy(kReentry));
}

}  // namespace
}  // namespace dynaflow::testing
