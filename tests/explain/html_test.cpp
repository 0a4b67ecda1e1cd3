#include "dynaflow/explain/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "explain/timelines.h"

namespace dynaflow {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kHostile = "</script><img src=x onerror=alert(1)>\"'&\n";

std::string page(const std::string& name, const Timeline& timeline) {
  const NamedTimeline named[] = {{name, timeline}};
  return to_html("runs", named);
}

/// What the page's script draws.
Json runs(const std::string& page) {
  const std::string opens = "id=\"runs\">";
  const std::size_t first = page.find(opens) + opens.size();
  return Json::parse(page.substr(first, page.find("</script>", first) - first));
}

Timeline hostile() { return {{kHostile}, {compute(0, 0, kHostile + ".0", 0, 10)}, 10}; }

TEST(Html, HoldsEveryStepWithWhatItWaitedFor) {
  const Json steps = runs(page("run", leapfrog())).at(0).at("steps");
  ASSERT_EQ(steps.size(), 6u);
  EXPECT_EQ(steps[5].at("label"), "mlp.1");
  EXPECT_EQ(steps[5].at("waits"), Json::array({4}));
  EXPECT_EQ(steps[5].at("microbatches"), Json::array({1, 2}));
  EXPECT_EQ(steps[5].at("critical"), true);
  EXPECT_EQ(steps[3].at("critical"), false);
}

TEST(Html, TellsNetworkLanesFromOthers) {
  const Json lanes = runs(page("run", leapfrog())).at(0).at("lanes");
  EXPECT_EQ(lanes[0].at("network"), false);
  EXPECT_EQ(lanes[1].at("network"), true);
}

TEST(Html, ShowsTheExplanation) {
  EXPECT_THAT(page("run", leapfrog()), HasSubstr("exposed. More or other micro-batches"));
  EXPECT_THAT(page("run", leapfrog()), HasSubstr("<pre>explanation  2 lanes, 6 steps, 10.0 us"));
}

TEST(Html, ComparesLaterRunsWithTheFirst) {
  Timeline faster = leapfrog();
  faster.spans.resize(5);
  faster.total_ns = 8000;
  const NamedTimeline named[] = {{"slow", leapfrog()}, {"fast", faster}};
  EXPECT_THAT(to_html("runs", named), HasSubstr("1.25x as fast as slow"));
}

TEST(Html, KeepsHostileNamesAsText) {
  const std::string text = page(kHostile, hostile());
  EXPECT_THAT(text, Not(HasSubstr("<img")));
  EXPECT_EQ(runs(text).at(0).at("steps")[0].at("label"), kHostile + ".0");
  EXPECT_EQ(runs(text).at(0).at("name"), kHostile);
}

TEST(Html, KeepsAHostileTitleAsText) {
  EXPECT_THAT(to_html(kHostile, {}), HasSubstr("<h1>&lt;/script&gt;&lt;img src=x"));
}

TEST(Html, SurvivesNamesThatAreNotUtf8) {
  const Timeline timeline{{"a\xff"}, {compute(0, 0, "op\xff.0", 0, 10)}, 10};
  EXPECT_THAT(page("run\xff", timeline), HasSubstr("run\xef\xbf\xbd"));
}

TEST(Html, LoadsNothingFromElsewhere) {
  const std::string text = page("run", leapfrog());
  EXPECT_THAT(text, HasSubstr("default-src 'none'"));
  EXPECT_THAT(text, Not(HasSubstr("https://")));
  EXPECT_THAT(text, Not(HasSubstr("src=")));
}

TEST(Html, ShowsRunsWithoutStepsOrTime) {
  EXPECT_EQ(runs(page("run", {})).at(0).at("steps").size(), 0u);
  EXPECT_EQ(runs(to_html("none", {})).size(), 0u);
}

TEST(Html, IsTheSameTwice) { EXPECT_EQ(page("run", leapfrog()), page("run", leapfrog())); }

}  // namespace
}  // namespace dynaflow
