#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <thread>

#include "dynaflow/device/cpu/cpu_device.h"
#include "dynaflow/explain/explanation.h"
#include "dynaflow/graph/builder.h"
#include "dynaflow/strategies/strategies.h"
#include "runtime/prepared.h"

// What a traced run tells besides times.
namespace dynaflow::testing {
namespace {

/// Three ops in a row; the second one throws.
Model failing() {
  const Kernel works = [](const KernelArgs&) {};
  const Kernel fails = [](const KernelArgs&) { throw std::runtime_error("bad"); };
  GraphBuilder builder;
  const ValueId x = builder.input("x", kRow);
  const ValueId a = builder.value("a", kRow);
  const ValueId b = builder.value("b", kRow);
  const ValueId y = builder.value("y", kRow);
  builder.op({.name = "good", .reads = {x}, .writes = {a}, .kernel = works});
  builder.op({.name = "bad", .reads = {a}, .writes = {b}, .kernel = fails});
  builder.op({.name = "after", .reads = {b}, .writes = {y}, .kernel = works});
  builder.output(y);
  return {builder.build().value(), x, y};
}

Timeline traced(Program& program, const Model& model) {
  (void)run_rows(program, model, 5, {.trace = RunOptions::Trace::kOn});
  return program.timeline();
}

TEST(TracedTimeline, HasTheWaitsAndMicrobatchesOfThePlan) {
  const Model model = two_layers();
  CpuDevice cpu;
  Program program = prepare(model.graph, Leapfrog(2), Split{{3, 2}}, cpu).value();
  for (const Timeline::Span& span : traced(program, model).spans) {
    const Step& step = program.plan().steps[span.step.index];
    EXPECT_THAT(span.waits, ::testing::ElementsAreArray(program.plan().waits(step)));
    EXPECT_EQ(span.microbatches, step.microbatches);
  }
}

TEST(TracedTimeline, IsReadBackAsItWas) {
  const Model model = two_layers();
  CpuDevice cpu;
  Program program = prepare(model.graph, Leapfrog(2), Split{{3, 2}}, cpu).value();
  const Timeline timeline = traced(program, model);
  EXPECT_EQ(from_chrome_trace(to_chrome_trace(timeline)).value(), timeline);
}

TEST(TracedTimeline, KnowsHowLongAStepHadItsCore) {
  constexpr std::chrono::milliseconds kAway{5};
  const Kernel sleeps = [=](const KernelArgs&) { std::this_thread::sleep_for(kAway); };
  GraphBuilder builder;
  const ValueId x = builder.input("x", kRow);
  const ValueId y = builder.value("y", kRow);
  builder.op({.name = "away", .reads = {x}, .writes = {y}, .kernel = sleeps});
  builder.output(y);
  const Model model{builder.build().value(), x, y};
  CpuDevice cpu;
  Program program = prepare(model.graph, Sequential(), Split{{5}}, cpu).value();
  const Timeline timeline = traced(program, model);
  const Timeline::Span& span = timeline.spans.at(0);
  EXPECT_GE(span.cpu_ns, 0);
  EXPECT_GE(span.end_ns - span.begin_ns - span.cpu_ns, std::chrono::nanoseconds(kAway).count());
}

TEST(TracedTimeline, OfAFailedRunHasTheStepsThatEnded) {
  const Model model = failing();
  CpuDevice cpu;
  Program program = prepare(model.graph, Sequential(), Split{{5}}, cpu).value();
  const Timeline timeline = traced(program, model);
  ASSERT_EQ(timeline.spans.size(), 1u);
  EXPECT_EQ(timeline.spans[0].label, "good.0");
}

TEST(TracedTimeline, IsExplainedToTheNanosecond) {
  const Model model = two_layers();
  CpuDevice cpu;
  Program program = prepare(model.graph, Leapfrog(2), Split{{3, 2}}, cpu).value();
  const Explanation explanation = explain(traced(program, model));
  for (const Explanation::Lane& lane : explanation.lanes) {
    EXPECT_EQ(lane.busy.total_ns() + lane.waited.total_ns() + lane.tail_ns + lane.host_ns,
              explanation.total_ns);
  }
  EXPECT_LE(explanation.bound.ns, explanation.total_ns);
}

}  // namespace
}  // namespace dynaflow::testing
