// What is too large, of another type or asked for meanwhile ends in an error, never in an abort.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

#include "dynaflow/dynaflow.h"
#include "runtime/prepared.h"
#include "support/findings.h"

namespace dynaflow::testing {
namespace {

using ::testing::AnyOf;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

/// A whole value whose maker takes this many elements; its reader does that.
Result<Stats> run_unplaced(std::int64_t elements, Kernel reader) {
  GraphBuilder builder;
  const ValueId k = builder.value({"k", kTable, ValueSpec::Size::kUnplaced});
  builder.op({.name = "make", .writes = {k}, .kernel = [=](const KernelArgs& args) {
                args.allocate(0, elements);
              }});
  builder.op({.name = "use", .reads = {k}, .kernel = std::move(reader)});
  CpuDevice cpu;
  return prepare(builder.build().value(), Sequential(), Split{{1}}, cpu).value().run({});
}

TEST(View, AskedForRowsOfAnotherSizeFailsTheBody) {
  GraphBuilder builder;
  const ValueId x = builder.input("x", kRow);
  builder.op({.name = "narrow", .reads = {x}, .kernel = [](const KernelArgs& args) {
                (void)args.in(0).row<std::int32_t>(0);
              }});
  CpuDevice cpu;
  Program program = prepare(builder.build().value(), Sequential(), Split{{4}}, cpu).value();
  std::vector<std::int64_t> numbers = input_for(4);
  EXPECT_THAT(program.run(std::array{bind(x, numbers)}), RefusedSaying(kBodyFailed, "narrow"));
}

/// three_in_a_row on four rows, with x bound to memory of this type.
template <class Element>
Result<Stats> run_with_x_as() {
  const Model model = three_in_a_row();
  CpuDevice cpu;
  Program program = prepare(model.graph, Sequential(), Split{{4}}, cpu).value();
  std::vector<std::int64_t> y(output_size(model, 4));
  std::vector<Element> x(y.size() * sizeof(std::int64_t) / sizeof(Element));
  return program.run(std::array{bind(model.x, x), bind(model.y, y)});
}

TEST(BindingsOfOtherTypes, AreRefusedWhereTheElementsHaveAnotherSize) {
  EXPECT_THAT(run_with_x_as<std::int32_t>(), RefusedSaying(kBadBinding, "'x'"));
}

TEST(BindingsOfOtherTypes, WorkWhereTheyAreBytes) {
  EXPECT_THAT(run_with_x_as<std::byte>(), Works());
}

TEST(ProgramRebind, RefusesSizesThatSumUpOnlyByOverflow) {
  CpuDevice cpu;
  Program program = prepare(three_in_a_row().graph, Sequential(3), Split{{1, 1, 1}}, cpu).value();
  EXPECT_THAT(program.rebind(Split{{kMost, kMost, 6}}),
              AnyOf(RefusedBy(kBatchNotCovered), RefusedBy(kBadBinding), RefusedBy(kOutOfMemory)));
}

TEST(ProgramRebind, RefusesMoreBytesThanCanBeCounted) {
  CpuDevice cpu;
  Program program = prepare(three_in_a_row().graph, Sequential(), Split{{1}}, cpu).value();
  EXPECT_THAT(program.rebind(Split{{std::int64_t{1} << 62}}), RefusedBy(kOutOfMemory));
}

TEST(Unplaced, MoreElementsThanCanBeCountedFailTheBody) {
  EXPECT_THAT(run_unplaced((std::int64_t{1} << 61) + 1, never), RefusedSaying(kBodyFailed, "make"));
}

TEST(Unplaced, MemoryIsAligned) {
  std::uintptr_t address = 1;
  ASSERT_THAT(run_unplaced(5,
                           [&](const KernelArgs& args) {
                             address = reinterpret_cast<std::uintptr_t>(args.in(0).data);
                           }),
              Works());
  EXPECT_EQ(address % Placement::kAlignment, 0U);
}

TEST(ProgramThreads, MayAskForTheTimelineMeanwhile) {
  const Model model = two_layers();
  CpuDevice cpu;
  Program program = prepare(model.graph, Leapfrog(2), Split{{3, 2}}, cpu).value();
  std::atomic<bool> done{false};
  std::size_t torn = 0;
  std::thread other([&] {
    while (!done) {
      const std::size_t spans = program.timeline().spans.size();
      if (spans != 0 && spans != program.plan().steps.size()) ++torn;
    }
  });
  for (int i = 0; i < 300; ++i) {
    EXPECT_THAT(run_rows(program, model, 5, {.trace = RunOptions::Trace::kOn}), Works());
  }
  done = true;
  other.join();
  EXPECT_EQ(torn, 0U);
}

}  // namespace
}  // namespace dynaflow::testing
