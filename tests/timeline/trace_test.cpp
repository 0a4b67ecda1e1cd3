#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "dynaflow/timeline/timeline.h"

namespace dynaflow {
namespace {

using Json = nlohmann::json;

Timeline two_lanes() {
  return {{"compute", "network"},
          {{{0}, {0}, "attn.0", CostClass::kCompute, 0, 2500},
           {{1}, {1}, "ar.0", CostClass::kNetwork, 2500, 4001, {0, 2}, {{0, 1}}}},
          4001};
}

/// The events of one phase: "X" for steps, "M" for names.
std::vector<Json> events(const Timeline& timeline, const std::string& phase) {
  std::vector<Json> found;
  const Json trace = Json::parse(to_chrome_trace(timeline));
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("ph") == phase) found.push_back(event);
  }
  return found;
}

/// Thread names by thread id.
std::map<int, std::string> thread_names(const Timeline& timeline) {
  std::map<int, std::string> names;
  for (const Json& event : events(timeline, "M")) {
    if (event.at("name") == "thread_name") names[event.at("tid")] = event.at("args").at("name");
  }
  return names;
}

TEST(Trace, HasACompleteEventPerStep) {
  const Json expected = {{"ph", "X"},
                         {"name", "ar.0"},
                         {"cat", "network"},
                         {"ts", 2.5},
                         {"dur", 1.501},
                         {"pid", 1},
                         {"tid", 2},
                         {"args",
                          {{"cost", "network"},
                           {"step", 1},
                           {"microbatches", {0, 2}},
                           {"waits", {{{"lane", 0}, {"count", 1}}}}}}};
  EXPECT_EQ(events(two_lanes(), "X").at(1), expected);
}

TEST(Trace, HasAsManyCompleteEventsAsSteps) { EXPECT_EQ(events(two_lanes(), "X").size(), 2u); }

TEST(Trace, NamesTheThreadOfEachLane) {
  const std::map<int, std::string> expected{{1, "compute"}, {2, "network"}};
  EXPECT_EQ(thread_names(two_lanes()), expected);
}

TEST(Trace, OfAnEmptyRunHasNoCompleteEvents) { EXPECT_TRUE(events(Timeline{}, "X").empty()); }

TEST(Trace, KeepsAStepWithoutLength) {
  const Timeline timeline{{"a"}, {{{0}, {0}, "op.0", CostClass::kMemory, 10, 10}}, 10};
  EXPECT_EQ(events(timeline, "X").at(0).at("dur"), 0.0);
}

TEST(Trace, EscapesNames) {
  const Timeline timeline{{"a"}, {{{0}, {0}, "say \"hi\"\n.0", CostClass::kCompute, 0, 1}}, 1};
  EXPECT_EQ(events(timeline, "X").at(0).at("name"), "say \"hi\"\n.0");
}

TEST(Trace, SurvivesANameThatIsNotUtf8) {
  const Timeline timeline{{"a"}, {{{0}, {0}, "op\xff.0", CostClass::kCompute, 0, 1}}, 1};
  EXPECT_EQ(events(timeline, "X").size(), 1u);
}

TEST(Trace, IsTheSameTwice) {
  EXPECT_EQ(to_chrome_trace(two_lanes()), to_chrome_trace(two_lanes()));
}

}  // namespace
}  // namespace dynaflow
