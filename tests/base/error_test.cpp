#include "dynaflow/base/error.h"

#include <gtest/gtest.h>

#include "dynaflow/base/check.h"
#include "dynaflow/base/result.h"

namespace dynaflow::testing {
namespace {

const Diagnostic kTwice{kRunTwice, "attn on microbatch 1 was already issued on lane compute",
                        "NanoFlow.schedule, nanoflow.cpp:41",
                        "take each op from get_ready_ops once"};
const Diagnostic kMissing{kNeverRun, "mlp was not executed on microbatch 0", "", ""};

TEST(Diagnostic, HasTheHouseForm) {
  EXPECT_EQ(to_string(kTwice),
            "error S3 run-twice: attn on microbatch 1 was already issued on lane compute\n"
            "  where  NanoFlow.schedule, nanoflow.cpp:41\n"
            "  fix    take each op from get_ready_ops once  (docs/rules.md, S3)");
}

TEST(Diagnostic, LeavesOutWhatItDoesNotKnow) {
  EXPECT_EQ(to_string(kMissing),
            "error S4 never-run: mlp was not executed on microbatch 0  (docs/rules.md, S4)");
}

TEST(Error, PrintsEveryFinding) {
  EXPECT_EQ(to_string(Error({kMissing, kTwice})), to_string(kMissing) + "\n" + to_string(kTwice));
}

TEST(Error, KnowsWhichRulesWereBroken) { EXPECT_TRUE(Error({kMissing, kTwice}).broke(kRunTwice)); }

TEST(Error, KnowsWhichRulesWereNotBroken) { EXPECT_FALSE(Error(kMissing).broke(kRunTwice)); }

TEST(Error, BeginsWithTheFirstFinding) {
  EXPECT_EQ(Error({kMissing, kTwice}).first().rule.id, "S4");
}

TEST(AllWell, IsWellWithoutFindings) { EXPECT_TRUE(all_well({}).has_value()); }

TEST(AllWell, IsAnErrorWithEveryFinding) {
  EXPECT_EQ(all_well({kMissing, kTwice}).error().findings.size(), 2U);
}

TEST(ErrorDeathTest, IsNeverEmpty) {
  EXPECT_DEATH((void)Error(std::vector<Diagnostic>{}), "internal check failed");
}

TEST(CheckDeathTest, NamesTheConditionAndThePlace) {
  EXPECT_DEATH(DYNAFLOW_CHECK(1 + 1 == 3), "1 \\+ 1 == 3 \\(.*error_test.cpp:[0-9]+\\)");
}

}  // namespace
}  // namespace dynaflow::testing
