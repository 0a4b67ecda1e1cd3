#include "dynaflow/runtime/unplaced.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "dynaflow/dynaflow.h"
#include "runtime/prepared.h"
#include "support/findings.h"
#include "support/scripted.h"

namespace dynaflow::testing {
namespace {

using Numbers = std::vector<std::int64_t>;

Stats stats_of(Program& program, const Model& model, std::int64_t rows) {
  const Numbers x = input_for(rows);
  Numbers y(output_size(model, rows));
  return program.run(std::array{bind(model.x, x), bind(model.y, y)}).value();
}

TEST(Unplaced, ValuesReachTheirReaders) {
  const Model model = with_unplaced();
  CpuDevice cpu;
  Program program = prepare(model.graph, Branches(2, 3), Split{{3, 1, 2}}, cpu).value();
  EXPECT_EQ(run_rows(program, model, 6), plain_output(model, {.rows = 6}));
}

TEST(Unplaced, ValuesReachTheirReadersMerged) {
  const Model model = with_unplaced();
  CpuDevice cpu;
  const Scripted merged([](ScheduleContext& ctx) {
    while (ctx.unfinished()) ctx.execute(ctx.get_ready_ops());
  });
  Program program = prepare(model.graph, merged, Split{{3, 1, 2}}, cpu).value();
  EXPECT_EQ(run_rows(program, model, 6), plain_output(model, {.rows = 6}));
}

TEST(Unplaced, ValuesAreCounted) {
  const Model model = with_unplaced();
  CpuDevice cpu;
  Program program = prepare(model.graph, Sequential(3), Split{{3, 1, 2}}, cpu).value();
  EXPECT_EQ(stats_of(program, model, 6).unplaced_values, 3U);
}

TEST(Unplaced, BytesAreCounted) {
  const Model model = with_unplaced();
  CpuDevice cpu;
  Program program = prepare(model.graph, Sequential(3), Split{{3, 1, 2}}, cpu).value();
  EXPECT_EQ(stats_of(program, model, 6).unplaced_bytes, 6 * kColumns * 8);
}

TEST(Unplaced, CountsStartAfreshWithEachRun) {
  const Model model = with_unplaced();
  CpuDevice cpu;
  Program program = prepare(model.graph, Sequential(3), Split{{3, 1, 2}}, cpu).value();
  ASSERT_THAT(run_rows(program, model, 6), Works());
  EXPECT_EQ(stats_of(program, model, 6).unplaced_values, 3U);
}

TEST(Unplaced, ValuesOfEmptyMicrobatchesAreNotMade) {
  const Model model = with_unplaced();
  CpuDevice cpu;
  Program program = prepare(model.graph, Sequential(2), Split{{0, 4}}, cpu).value();
  EXPECT_EQ(stats_of(program, model, 4).unplaced_values, 1U);
}

TEST(Unplaced, ValuesTakeNoArena) {
  const Model model = with_unplaced();
  CpuDevice cpu;
  Program program = prepare(model.graph, Sequential(), Split{{4}}, cpu).value();
  EXPECT_EQ(stats_of(program, model, 4).arena_bytes, 0);
}

TEST(Unplaced, ValuesMayHaveADifferentSizeInEveryRun) {
  std::int64_t size = 3;
  std::int64_t read = 0;
  GraphBuilder builder;
  const ValueId k = builder.value({"k", kTable, ValueSpec::Size::kUnplaced});
  builder.op({.name = "make", .writes = {k}, .kernel = [&](const KernelArgs& args) {
                args.allocate(0, size);
              }});
  builder.op({.name = "use", .reads = {k}, .kernel = [&](const KernelArgs& args) {
                read = args.in(0).elements;
              }});
  CpuDevice cpu;
  Program program = prepare(builder.build().value(), Sequential(), Split{{1}}, cpu).value();
  ASSERT_THAT(program.run({}), Works());
  size = 5;
  ASSERT_THAT(program.run({}), Works());
  EXPECT_EQ(read, 5);
}

TEST(Unplaced, ValuesOfNoElementsWork) {
  GraphBuilder builder;
  const ValueId k = builder.value({"k", kTable, ValueSpec::Size::kUnplaced});
  builder.op({.name = "make", .writes = {k}, .kernel = [](const KernelArgs& args) {
                args.allocate(0, 0);
              }});
  CpuDevice cpu;
  Program program = prepare(builder.build().value(), Sequential(), Split{{1}}, cpu).value();
  EXPECT_THAT(program.run({}), Works());
}

TEST(Unplaced, ANegativeSizeFailsTheBody) {
  GraphBuilder builder;
  const ValueId k = builder.value({"k", kTable, ValueSpec::Size::kUnplaced});
  builder.op({.name = "make", .writes = {k}, .kernel = [](const KernelArgs& args) {
                args.allocate(0, -1);
              }});
  CpuDevice cpu;
  Program program = prepare(builder.build().value(), Sequential(), Split{{1}}, cpu).value();
  EXPECT_THAT(program.run({}), RefusedSaying(kBodyFailed, "make"));
}

}  // namespace
}  // namespace dynaflow::testing
