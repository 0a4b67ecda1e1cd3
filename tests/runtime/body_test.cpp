// Bodies: bound once per size and lane, run with real addresses, scratch and counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <latch>
#include <stdexcept>

#include "dynaflow/dynaflow.h"
#include "runtime/prepared.h"
#include "support/counting_body.h"
#include "support/findings.h"
#include "support/queue_device.h"
#include "support/scripted.h"

namespace dynaflow::testing {
namespace {

using ::testing::ElementsAre;

using Numbers = std::vector<std::int64_t>;

/// x -> a -> u -> b -> v -> c -> y, all by one body.
Model three_of(const std::shared_ptr<const Body>& body) {
  GraphBuilder builder("three_of");
  const ValueId x = builder.input("x", kRow);
  const ValueId u = builder.value("u", kRow);
  const ValueId v = builder.value("v", kRow);
  const ValueId y = builder.value("y", kRow);
  builder.op({.name = "a", .reads = {x}, .writes = {u}, .body = body});
  builder.op({.name = "b", .reads = {u}, .writes = {v}, .body = body});
  builder.op({.name = "c", .reads = {v}, .writes = {y}, .body = body});
  builder.output(y);
  return {builder.build().value(), x, y};
}

/// What three ops of the same kernel give.
Numbers expected(std::int64_t rows) {
  GraphBuilder builder;
  ValueId at = builder.input("x", kRow);
  const ValueId x = at;
  for (const char* name : {"u", "v", "y"}) {
    const ValueId next = builder.value(name, kRow);
    builder.op(
        {.name = std::string("to ") + name, .reads = {at}, .writes = {next}, .kernel = mix(1)});
    at = next;
  }
  builder.output(at);
  return plain_output({builder.build().value(), x, at}, {.rows = rows});
}

std::shared_ptr<CountingBody> mixing() { return std::make_shared<CountingBody>(mix(1)); }

Stats stats_of(Program& program, const Model& model, std::int64_t rows) {
  const Numbers x = input_for(rows);
  Numbers y(output_size(model, rows));
  return program.run(std::array{bind(model.x, x), bind(model.y, y)}).value();
}

TEST(Body, GivesWhatItsKernelGives) {
  const Model model = three_of(mixing());
  CpuDevice cpu;
  Program program = prepare(model.graph, Branches(2, 3), Split{{3, 1, 2}}, cpu).value();
  EXPECT_EQ(run_rows(program, model, 6), expected(6));
}

TEST(Body, GivesTheSameOnAnIssuingDevice) {
  const Model model = three_of(mixing());
  QueueDevice queue;
  Program program = prepare(model.graph, Branches(2, 3), Split{{3, 1, 2}}, queue).value();
  EXPECT_EQ(run_rows(program, model, 6), expected(6));
}

TEST(Body, IsBoundOnceForEqualStepsOfALane) {
  const auto body = mixing();
  const Model model = three_of(body);
  CpuDevice cpu;
  ASSERT_THAT(prepare(model.graph, Sequential(2), Split{{4, 4}}, cpu), Works());
  EXPECT_EQ(body->binds(), 1);
}

TEST(Body, IsBoundForEachSize) {
  const auto body = mixing();
  CpuDevice cpu;
  ASSERT_THAT(prepare(three_of(body).graph, Sequential(3), Split{{4, 3, 4}}, cpu), Works());
  EXPECT_EQ(body->binds(), 2);
}

TEST(Body, IsBoundForEachLane) {
  const auto body = mixing();
  CpuDevice cpu;
  ASSERT_THAT(prepare(three_of(body).graph, Branches(2, 2), Split{{4, 4}}, cpu), Works());
  EXPECT_EQ(body->binds(), 2);
}

TEST(Body, IsNotBoundAgainByARun) {
  const auto body = mixing();
  const Model model = three_of(body);
  CpuDevice cpu;
  Program program = prepare(model.graph, Sequential(2), Split{{4, 4}}, cpu).value();
  for (int i = 0; i < 3; ++i) ASSERT_THAT(run_rows(program, model, 8), Works());
  EXPECT_EQ(body->binds(), 1);
}

TEST(Body, IsBoundAgainForOtherSizes) {
  const auto body = mixing();
  const Model model = three_of(body);
  CpuDevice cpu;
  Program program = prepare(model.graph, Sequential(2), Split{{4, 4}}, cpu).value();
  ASSERT_THAT(program.rebind(Split{{2, 2}}), Works());
  EXPECT_EQ(body->binds(), 2);
  EXPECT_EQ(run_rows(program, model, 4), expected(4));
}

TEST(Body, SeesItsSizesButNoAddressWhenBound) {
  const auto look = [](const BindArgs& args) {
    EXPECT_EQ(args.in(0).data, nullptr);
    EXPECT_EQ(args.in(0).rows, 4);
    EXPECT_EQ(args.out(0).elements, kColumns);
    EXPECT_EQ(args.rows.count, 4);
  };
  const auto body = std::make_shared<CountingBody>(mix(1), [](const BindArgs&) { return 0; }, look);
  CpuDevice cpu;
  EXPECT_THAT(prepare(three_of(body).graph, Sequential(2), Split{{4, 4}}, cpu), Works());
}

TEST(Body, ThatRefusesASizeIsNamed) {
  const auto refuse = [](const BindArgs&) { throw std::runtime_error("no such size"); };
  const auto body =
      std::make_shared<CountingBody>(mix(1), [](const BindArgs&) { return 0; }, refuse);
  CpuDevice cpu;
  EXPECT_THAT(prepare(three_of(body).graph, Sequential(2), Split{{4, 4}}, cpu),
              RefusedSaying(kBodyFailed, "a on microbatch 0: no such size"));
}

TEST(Body, ThatIsBoundToNothingIsRefused) {
  class Lost final : public Body {
   public:
    [[nodiscard]] std::shared_ptr<BoundBody> bind(const BindArgs&) const override { return {}; }
  };
  CpuDevice cpu;
  EXPECT_THAT(prepare(three_of(std::make_shared<Lost>()).graph, Sequential(), Split{{4}}, cpu),
              RefusedSaying(kBodyFailed, "a on microbatch 0: its body was bound to null"));
}

TEST(Body, ThatRefusesASizeLeavesTheOldOnesInForce) {
  const auto refuse = [](const BindArgs& args) {
    if (args.rows.count == 2) throw std::runtime_error("no such size");
  };
  const auto body =
      std::make_shared<CountingBody>(mix(1), [](const BindArgs&) { return 0; }, refuse);
  const Model model = three_of(body);
  CpuDevice cpu;
  Program program = prepare(model.graph, Sequential(2), Split{{4, 4}}, cpu).value();
  EXPECT_THAT(program.rebind(Split{{2, 2}}), RefusedBy(kBodyFailed));
  EXPECT_EQ(run_rows(program, model, 8), expected(8));
}

TEST(Body, BesideAKernelIsRefused) {
  GraphBuilder builder;
  builder.op({.name = "both", .kernel = never, .body = mixing()});
  CpuDevice cpu;
  EXPECT_THAT(prepare(builder.build().value(), Sequential(), Split{{4}}, cpu),
              RefusedSaying(kBadBinding, "op 'both' has a kernel and a body"));
}

TEST(Body, MayReplaceAChain) {
  const Model model = three_of(std::make_shared<CountingBody>(never));
  const auto body = mixing();
  const Scripted strategy([body](ScheduleContext& ctx) {
    while (ctx.unfinished()) {
      ctx.execute(ctx.get_ready_ops().front(),
                  {.replace_func = Replacement{"fast", {kRow}, {kRow}, {}, body}});
    }
  });
  CpuDevice cpu;
  Program program = prepare(model.graph, strategy, Split{{3, 3}}, cpu).value();
  EXPECT_EQ(run_rows(program, model, 6), expected(6));
  EXPECT_EQ(body->binds(), 1);
}

TEST(Body, KnowsItsStepsName) {
  std::vector<std::string> names;
  const auto body = std::make_shared<CountingBody>(
      [&](const KernelArgs& args) { names.emplace_back(args.name); });
  const Model model = three_of(body);
  CpuDevice cpu;
  Program program = prepare(model.graph, Sequential(2), Split{{2, 2}}, cpu).value();
  ASSERT_THAT(run_rows(program, model, 4), Works());
  EXPECT_THAT(names, ElementsAre("a.0", "b.0", "c.0", "a.1", "b.1", "c.1"));
}

TEST(Body, GetsTheScratchItAskedFor) {
  const auto check = [](const KernelArgs& args) {
    EXPECT_EQ(args.scratch.size(), 100U + static_cast<std::size_t>(args.rows.count));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(args.scratch.data()) % 64, 0U);
  };
  const auto body = std::make_shared<CountingBody>(
      check, [](const BindArgs& args) { return 100 + args.rows.count; });
  const Model model = three_of(body);
  CpuDevice cpu;
  Program program = prepare(model.graph, Branches(2, 2), Split{{2, 3}}, cpu).value();
  EXPECT_THAT(run_rows(program, model, 5), Works());
}

TEST(Body, ThatAsksForNoScratchGetsNone) {
  const auto check = [](const KernelArgs& args) { EXPECT_TRUE(args.scratch.empty()); };
  const Model model = three_of(std::make_shared<CountingBody>(check));
  CpuDevice cpu;
  Program program = prepare(model.graph, Sequential(2), Split{{2, 3}}, cpu).value();
  EXPECT_THAT(run_rows(program, model, 5), Works());
}

TEST(Body, CountsAreSummedOverLanes) {
  const auto body = std::make_shared<CountingBody>([](const KernelArgs& args) {
    args.counts->copied_bytes += 100;
    args.counts->allocations += 2;
    args.counts->python_calls += 1;
  });
  const Model model = three_of(body);
  CpuDevice cpu;
  Program program = prepare(model.graph, Branches(2, 2), Split{{2, 2}}, cpu).value();
  for (int again = 0; again < 2; ++again) {  // each run counts from zero
    const Stats stats = stats_of(program, model, 4);
    EXPECT_EQ(stats.copied_bytes, 600);
    EXPECT_EQ(stats.body_allocations, 12);
    EXPECT_EQ(stats.python_calls, 6);
  }
}

TEST(Body, IsBoundAnewAfterAStall) {
  std::latch release(1);
  std::atomic<bool> armed{true};
  const auto body = std::make_shared<CountingBody>([&](const KernelArgs& args) {
    if (armed.exchange(false)) {
      release.wait();
      throw std::runtime_error("released");  // its views may be gone
    }
    mix(1)(args);
  });
  const Model model = three_of(body);
  CpuDevice cpu({.first_lane = FirstLane::kOwnThread});
  Program program = prepare(model.graph, Sequential(), Split{{4}}, cpu).value();
  RunOptions options;
  options.watch.stall_after = std::chrono::milliseconds(40);
  EXPECT_THAT(run_rows(program, model, 4, options), RefusedBy(kStalled));
  release.count_down();
  auto again = run_rows(program, model, 4);
  while (!again && again.error().broke(kLaneLost)) again = run_rows(program, model, 4);
  EXPECT_EQ(again, expected(4));
  EXPECT_EQ(body->binds(), 2);
}

/// Coupled: runs once over the batch, and writes rows that the next op sees split.
TEST(CoupledOp, MayWriteASplitValue) {
  GraphBuilder builder;
  const ValueId x = builder.input("x", kRow);
  const ValueId u = builder.value("u", kRow);
  const ValueId y = builder.value("y", kRow);
  const auto reverse = [](const KernelArgs& args) {
    for (std::int64_t row = 0; row < args.rows.count; ++row) {
      const auto from = args.in(0).row<std::int64_t>(args.rows.count - 1 - row);
      std::ranges::copy(from, args.out(0).row<std::int64_t>(row).begin());
    }
  };
  builder.op({.name = "reverse",
              .reads = {x},
              .writes = {u},
              .coupling = Coupling::kCoupled,
              .body = std::make_shared<CountingBody>(reverse)});
  builder.op({.name = "next", .reads = {u}, .writes = {y}, .kernel = mix(1)});
  builder.output(y);
  const Model model{builder.build().value(), x, y};
  CpuDevice cpu;
  Program program = prepare(model.graph, Branches(2, 3), Split{{1, 2, 2}}, cpu).value();
  EXPECT_EQ(program.plan().steps.size(), 4U);
  EXPECT_EQ(run_rows(program, model, 5), plain_output(model, {.rows = 5}));
}

}  // namespace
}  // namespace dynaflow::testing
