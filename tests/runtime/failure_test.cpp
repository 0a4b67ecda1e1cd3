// A body that knows which rule its failure is says so, and the run's error is that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dynaflow/dynaflow.h"
#include "runtime/prepared.h"
#include "support/findings.h"

namespace dynaflow::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;

class Failing : public ::testing::TestWithParam<Rule> {};

TEST_P(Failing, IsTheRunsError) {
  GraphBuilder builder;
  const ValueId x = builder.input("x", kRow);
  const ValueId y = builder.value("y", kRow);
  builder.op({.name = "reduce", .reads = {x}, .writes = {y}, .kernel = [](const KernelArgs&) {
                throw Failure(GetParam(), "rank 1 is gone", "make a new group");
              }});
  builder.output(y);
  const Model model{builder.build().value(), x, y};
  CpuDevice cpu;
  Program program = prepare(model.graph, Sequential(2), Split{{2, 2}}, cpu).value();
  const auto failed = run_rows(program, model, 4);
  ASSERT_FALSE(failed);
  EXPECT_THAT(
      failed.error().findings,
      ElementsAre(AllOf(Broke(GetParam()),
                        Says("reduce on microbatch 0 failed on lane main: rank 1 is gone"))));
  EXPECT_EQ(failed.error().first().fix, "make a new group");
}

INSTANTIATE_TEST_SUITE_P(Rules, Failing,
                         ::testing::Values(kRanksDisagree, kTransferFailed, kGroupBroken));

}  // namespace
}  // namespace dynaflow::testing
