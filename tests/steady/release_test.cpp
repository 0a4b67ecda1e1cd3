// A value whose size only its maker knows is given back as soon as its last reader is done.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

#include "dynaflow/dynaflow.h"
#include "steady/counters.h"
#include "support/findings.h"
#include "support/models.h"

namespace dynaflow::testing {
namespace {

/// make -> k; then the ops `first` and `second` in this order, of which some read k. What was given
/// back between the ends of `make` and of `first`.
std::int64_t frees_before_second(const std::vector<std::string>& readers) {
  std::int64_t frees = -1;
  GraphBuilder builder;
  const ValueId w = builder.input("w", kTable);
  const ValueId k = builder.value({"k", kTable, ValueSpec::Size::kUnplaced});
  builder.op({.name = "make", .updates = {w}, .writes = {k}, .kernel = [](const KernelArgs& args) {
                args.allocate(1, 8);
                start_counting();
              }});
  const auto read = [&](const std::string& name) {
    return std::ranges::find(readers, name) == readers.end() ? std::vector<ValueId>{}
                                                             : std::vector{k};
  };
  builder.op(
      {.name = "first", .reads = read("first"), .updates = {w}, .kernel = [](const KernelArgs&) {
       }});
  builder.op(
      {.name = "second", .reads = read("second"), .updates = {w}, .kernel = [&](const KernelArgs&) {
         frees = stop_counting().frees;
       }});
  CpuDevice cpu;
  CompiledGraph compiled(builder.build().value(), std::make_shared<Sequential>(), cpu);
  std::vector<std::int64_t> table(kColumns);
  EXPECT_THAT(compiled.run({.rows = 1}, std::array{bind(w, table)}), Works());
  return frees;
}

TEST(Release, FollowsTheLastReader) { EXPECT_EQ(frees_before_second({"first"}), 1); }

TEST(Release, WaitsForTheLastReader) { EXPECT_EQ(frees_before_second({"first", "second"}), 0); }

TEST(Release, FollowsTheMakerWhereNobodyReads) { EXPECT_EQ(frees_before_second({}), 1); }

}  // namespace
}  // namespace dynaflow::testing
