#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "dynaflow/timeline/timeline.h"

namespace dynaflow {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;

Timeline two_lanes() {
  return {{"compute", "network", "idle"},
          {{{0}, {0}, "attn.0", CostClass::kCompute, 0, 2500, {0, 1}},
           {{2}, {0}, "say \"<hi>\"\n.1", CostClass::kMemory, 2500, 2501, {1, 2}},
           {{1}, {1}, "ar.0-2", CostClass::kNetwork, 2501, 4003, {0, 3}, {{0, 2}, {2, 0}}}},
          5000};
}

std::string complaint(const std::string& document) {
  const auto read = from_chrome_trace(document);
  if (read) return "nothing";
  EXPECT_TRUE(read.error().broke(kBadTimeline));
  return to_string(read.error());
}

TEST(ReadTrace, GivesBackWhatWasWritten) {
  EXPECT_EQ(from_chrome_trace(to_chrome_trace(two_lanes())).value(), two_lanes());
}

TEST(ReadTrace, GivesBackHowLongAStepHadACore) {
  Timeline timeline = two_lanes();
  timeline.spans.front().cpu_ns = 0;
  timeline.spans.back().cpu_ns = 17;
  EXPECT_EQ(from_chrome_trace(to_chrome_trace(timeline)).value(), timeline);
}

TEST(ReadTrace, GivesBackAnEmptyRun) {
  EXPECT_EQ(from_chrome_trace(to_chrome_trace(Timeline{})).value(), Timeline{});
}

TEST(ReadTrace, KeepsEveryNanosecondOfALongRun) {
  const std::int64_t day = 86'400'000'000'000;
  const Timeline timeline{
      {"a"}, {{{0}, {0}, "op.0", CostClass::kCompute, day + 1, 2 * day + 3}}, 3 * day + 7};
  EXPECT_EQ(from_chrome_trace(to_chrome_trace(timeline)).value(), timeline);
}

TEST(ReadTrace, SaysWhereTheDocumentIsWrong) {
  Json json = Json::parse(to_chrome_trace(two_lanes()));
  json["traceEvents"][8]["args"].erase("waits");
  EXPECT_THAT(complaint(json.dump()), HasSubstr("saved timeline, traceEvents[8]"));
}

struct Spoilt {
  std::string name;
  std::string says;
  std::function<void(Json&)> spoil;
};

void PrintTo(const Spoilt& spoilt, std::ostream* out) { *out << spoilt.name; }

Json& first(Json& json) { return json["traceEvents"][7]; }  // after the process and three lanes
Json& last(Json& json) { return json["traceEvents"][9]; }

const std::vector<Spoilt> kSpoilt = {
    {"NoObject", "no object", [](Json& j) { j = Json::array(); }},
    {"AnotherProgramsTrace", "no \"otherData\"", [](Json& j) { j.erase("otherData"); }},
    {"AnotherFormat", "format is 'x', not dynaflow-timeline/1",
     [](Json& j) { j["otherData"]["format"] = "x"; }},
    {"NoTotal", "no \"total_ns\"", [](Json& j) { j["otherData"].erase("total_ns"); }},
    {"NegativeTotal", "\"total_ns\" is no whole number",
     [](Json& j) { j["otherData"]["total_ns"] = -1; }},
    {"NoEvents", "no \"traceEvents\"", [](Json& j) { j.erase("traceEvents"); }},
    {"EventsThatAreNoList", "\"traceEvents\" is no list", [](Json& j) { j["traceEvents"] = 7; }},
    {"AnEventThatIsNone", "no object", [](Json& j) { first(j) = 7; }},
    {"NoName", "no \"name\"", [](Json& j) { first(j).erase("name"); }},
    {"ANameThatIsNoText", "\"name\" is no text", [](Json& j) { first(j)["name"] = 7; }},
    {"NoBegin", "no \"ts\"", [](Json& j) { first(j).erase("ts"); }},
    {"NegativeBegin", "\"ts\" is no time", [](Json& j) { first(j)["ts"] = -1; }},
    {"EndlessStep", "\"dur\" is no time", [](Json& j) { first(j)["dur"] = 1e300; }},
    {"UnknownCost", "unknown cost class 'gpu'", [](Json& j) { first(j)["args"]["cost"] = "gpu"; }},
    {"LanesOutOfOrder", "lanes are not threads", [](Json& j) { j["traceEvents"][1]["tid"] = 9; }},
    {"UnknownLane", "no thread_name names", [](Json& j) { first(j)["tid"] = 4; }},
    {"ThreadZero", "no thread_name names", [](Json& j) { first(j)["tid"] = 0; }},
    {"NoMicrobatches", "not [first, last)",
     [](Json& j) { first(j)["args"]["microbatches"] = {1}; }},
    {"MicrobatchesBackwards", "no micro-batches",
     [](Json& j) { first(j)["args"]["microbatches"] = {2, 1}; }},
    {"WaitForUnknownLane", "no thread_name names",
     [](Json& j) { last(j)["args"]["waits"][0]["lane"] = 3; }},
    {"WaitForAStepThatIsNotThere", "waits for step 3 of a lane of 2",
     [](Json& j) { last(j)["args"]["waits"][0]["count"] = 3; }},
    {"StepAfterTheEnd", "attn.0 ends after the run",
     [](Json& j) { j["otherData"]["total_ns"] = 100; }},
    {"TwoStepsOfALaneAtOnce", "begins before attn.0 on the same lane has ended",
     [](Json& j) { first(j)["dur"] = 2.501; }},
    {"StepBeforeWhatItWaitsFor", "which it waits for, has ended",
     [](Json& j) { last(j)["ts"] = 1; }},
};

class BadTrace : public testing::TestWithParam<Spoilt> {};

TEST_P(BadTrace, IsRefused) {
  Json json = Json::parse(to_chrome_trace(two_lanes()));
  GetParam().spoil(json);
  EXPECT_THAT(complaint(json.dump()), HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(ReadTrace, BadTrace, testing::ValuesIn(kSpoilt),
                         [](const auto& spoilt) { return spoilt.param.name; });

TEST(ReadTrace, RefusesWhatIsNoJson) {
  for (const std::string document : {"", "{", "\xff\xfe", "hello", "[1,2", "{\"a\":}"}) {
    EXPECT_THAT(complaint(document), HasSubstr("it is no JSON"));
  }
}

TEST(ReadTrace, RefusesADeepDocument) {
  EXPECT_THAT(complaint(std::string(100'000, '[') + std::string(100'000, ']')),
              HasSubstr("no object"));
}

// Whatever becomes of a document by a few wrong bytes: a Timeline that can be written and read
// again, or T1.
TEST(ReadTrace, SurvivesSpoiltBytes) {
  const std::string document = to_chrome_trace(two_lanes());
  std::mt19937 random(7);
  int refused = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string spoilt = document;
    for (std::size_t n = 1 + random() % 4; n > 0; --n) {
      const std::size_t at = random() % spoilt.size();
      if (random() % 2 == 0) spoilt[at] = document[random() % document.size()];
      if (random() % 4 == 0) spoilt.erase(at, random() % 20);
    }
    const auto read = from_chrome_trace(spoilt);
    if (read) {
      EXPECT_EQ(from_chrome_trace(to_chrome_trace(*read)).value(), *read);
    } else {
      EXPECT_TRUE(read.error().broke(kBadTimeline));
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace dynaflow
