// Split and merge are views: the kernels tell which bytes they saw.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "dynaflow/dynaflow.h"
#include "support/findings.h"
#include "support/models.h"
#include "support/scripted.h"

namespace dynaflow::testing {
namespace {

constexpr std::int64_t kRowBytes = kColumns * 8;
const Split kSplit{{3, 2, 4}};

/// Where each call of `make` wrote and each call of `use` read, by its first row.
struct Seen {
  std::map<std::int64_t, View> made;
  std::map<std::int64_t, View> used;
  std::map<std::int64_t, View> inputs;
};

/// x -> make -> u -> use -> y, run once under a strategy.
Seen look(const Recorder& recorder) {
  Seen seen;
  GraphBuilder builder;
  const ValueId x = builder.input("x", kRow);
  const ValueId u = builder.value("u", kRow);
  const ValueId y = builder.value("y", kRow);
  builder.op({.name = "make", .reads = {x}, .writes = {u}, .kernel = [&](const KernelArgs& args) {
                seen.inputs[args.rows.first] = args.in(0);
                seen.made[args.rows.first] = args.out(0);
              }});
  builder.op({.name = "use", .reads = {u}, .writes = {y}, .kernel = [&](const KernelArgs& args) {
                seen.used[args.rows.first] = args.in(0);
              }});
  builder.output(y);
  const Model model{builder.build().value(), x, y};
  const auto strategy = scripted(recorder, [](const Batch&) { return kSplit; });
  EXPECT_THAT(output_of(model, strategy, {.rows = 9}), Works());
  return seen;
}

/// `make` on each micro-batch, then `use` on all of them at once.
void merge_late(ScheduleContext& ctx) {
  for (const ReadyOp& op : ctx.get_ready_ops()) ctx.execute(op);
  ctx.execute(ctx.get_ready_ops());
}

/// `make` on all micro-batches at once, then `use` on each.
void split_late(ScheduleContext& ctx) {
  ctx.execute(ctx.get_ready_ops());
  for (const ReadyOp& op : ctx.get_ready_ops()) ctx.execute(op);
}

TEST(Views, OfAMergedStepStartAtTheFirstSlice) {
  const Seen seen = look(merge_late);
  EXPECT_EQ(seen.used.at(0).data, seen.made.at(0).data);
}

TEST(Views, OfAMergedStepCoverAllRows) { EXPECT_EQ(look(merge_late).used.at(0).rows, 9); }

TEST(Views, OfSlicesThatAreMergedAreAdjacent) {
  const Seen seen = look(merge_late);
  EXPECT_EQ(seen.made.at(3).data, seen.made.at(0).data + 3 * kRowBytes);
  EXPECT_EQ(seen.made.at(5).data, seen.made.at(3).data + 2 * kRowBytes);
}

TEST(Views, OfASplitStepAreSlicesOfTheMergedOne) {
  const Seen seen = look(split_late);
  EXPECT_EQ(seen.used.at(0).data, seen.made.at(0).data);
  EXPECT_EQ(seen.used.at(3).data, seen.made.at(0).data + 3 * kRowBytes);
  EXPECT_EQ(seen.used.at(5).data, seen.made.at(0).data + 5 * kRowBytes);
}

TEST(Views, OfTheCallersInputAreSlicesOfIt) {
  const Seen seen = look(merge_late);
  EXPECT_EQ(seen.inputs.at(5).data, seen.inputs.at(0).data + 5 * kRowBytes);
}

TEST(Views, HaveRowsThatTouch) { EXPECT_EQ(look(merge_late).used.at(0).row_stride, kRowBytes); }

}  // namespace
}  // namespace dynaflow::testing
