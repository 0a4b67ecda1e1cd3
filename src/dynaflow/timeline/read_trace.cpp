#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "dynaflow/timeline/timeline.h"
#include "dynaflow/timeline/trace_format.h"

namespace dynaflow {
namespace {

using Json = nlohmann::json;

constexpr std::array kCosts{CostClass::kCompute, CostClass::kMemory, CostClass::kNetwork};
constexpr std::int64_t kMostNs = 1'000'000'000'000'000;  // eleven days; exact in a double
constexpr std::int64_t kMostCount = 0xffff'fffe;         // an id, or a count of them

/// What is wrong with the document.
struct BadTrace : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Only finds members of objects, and says which one is missing or of another kind.
const Json& member(const Json& object, const char* key) {
  if (!object.is_object())
    throw BadTrace("no object where one with \"" + std::string(key) + "\" should be");
  const auto found = object.find(key);
  if (found == object.end()) throw BadTrace("no \"" + std::string(key) + "\"");
  return *found;
}

std::string text(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_string()) throw BadTrace("\"" + std::string(key) + "\" is no text");
  return value.get<std::string>();
}

const Json& list(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_array()) throw BadTrace("\"" + std::string(key) + "\" is no list");
  return value;
}

std::int64_t natural(const Json& value, const std::string& what, std::int64_t most) {
  if (!value.is_number_unsigned() ||
      value.get<std::uint64_t>() > static_cast<std::uint64_t>(most)) {
    throw BadTrace(what + " is no whole number from 0 to " + std::to_string(most));
  }
  return value.get<std::int64_t>();
}

std::uint32_t index(const Json& value, const std::string& what) {
  return static_cast<std::uint32_t>(natural(value, what, kMostCount));
}

std::int64_t ns_of(const Json& event, const char* key) {
  const Json& value = member(event, key);
  const double us = value.is_number() ? value.get<double>() : -1;
  if (!(us >= 0) || us * 1000 > static_cast<double>(kMostNs)) {
    throw BadTrace("\"" + std::string(key) + "\" is no time in microseconds");
  }
  return std::llround(us * 1000);
}

CostClass cost_of(const Json& args) {
  const std::string name = text(args, "cost");
  for (const CostClass cost : kCosts) {
    if (to_string(cost) == name) return cost;
  }
  throw BadTrace("unknown cost class '" + name + "'");
}

/// Lanes are threads counted from 1, named before their steps.
class Reader {
 public:
  Timeline read(const Json& document) {
    const Json& about = member(document, "otherData");
    if (text(about, "format") != kTraceFormat) {
      throw BadTrace("format is '" + text(about, "format") + "', not " + std::string(kTraceFormat));
    }
    timeline_.total_ns = natural(member(about, "total_ns"), "\"total_ns\"", kMostNs);
    std::size_t at = 0;
    for (const Json& event : list(document, "traceEvents")) {
      place_ = "traceEvents[" + std::to_string(at++) + "]";
      add_event(event);
    }
    std::ranges::stable_sort(timeline_.spans, {}, [](const Timeline::Span& span) {
      return std::pair(span.begin_ns, span.lane);
    });
    check_run();
    return std::move(timeline_);
  }

  [[nodiscard]] const std::string& place() const { return place_; }

 private:
  using Spans = std::vector<const Timeline::Span*>;  // of one lane, in order

  void add_event(const Json& event) {
    const std::string phase = text(event, "ph");
    if (phase == "M" && text(event, "name") == "thread_name") add_lane(event);
    if (phase == "X") add_span(event);
  }

  void add_lane(const Json& event) {
    if (index(member(event, "tid"), "\"tid\"") != timeline_.lanes.size() + 1) {
      throw BadTrace("lanes are not threads 1, 2, 3 in this order");
    }
    timeline_.lanes.push_back(text(member(event, "args"), "name"));
  }

  void add_span(const Json& event) {
    const Json& args = member(event, "args");
    Timeline::Span span;
    span.step = {index(member(args, "step"), "\"step\"")};
    span.lane = lane(index(member(event, "tid"), "\"tid\"") - 1U);
    span.label = text(event, "name");
    span.cost = cost_of(args);
    span.begin_ns = ns_of(event, "ts");
    span.end_ns = span.begin_ns + ns_of(event, "dur");
    if (event.contains("tdur")) span.cpu_ns = ns_of(event, "tdur");
    span.microbatches = microbatches(list(args, "microbatches"));
    for (const Json& wait : list(args, "waits")) {
      span.waits.push_back({lane(index(member(wait, "lane"), "\"lane\"")).index,
                            index(member(wait, "count"), "\"count\"")});
    }
    if (span.end_ns > timeline_.total_ns) throw BadTrace(span.label + " ends after the run");
    timeline_.spans.push_back(std::move(span));
  }

  [[nodiscard]] LaneId lane(std::uint32_t at) const {
    if (at >= timeline_.lanes.size()) throw BadTrace("a lane that no thread_name names");
    return {at};
  }

  static MicrobatchRange microbatches(const Json& ends) {
    if (ends.size() != 2) throw BadTrace("\"microbatches\" is not [first, last)");
    const MicrobatchRange range{index(ends[0], "a micro-batch"), index(ends[1], "a micro-batch")};
    if (range.first >= range.last) throw BadTrace("no micro-batches from first to last");
    return range;
  }

  /// What no device can have done.
  void check_run() {
    place_ = "the run";
    std::vector<Spans> of_lane(timeline_.lanes.size());
    for (const Timeline::Span& span : timeline_.spans) of_lane[span.lane.index].push_back(&span);
    for (const Spans& spans : of_lane) check_lane(spans);
    for (const Timeline::Span& span : timeline_.spans) {
      for (const Wait& wait : span.waits) check_wait(span, wait.count, of_lane[wait.lane]);
    }
  }

  static void check_lane(const Spans& spans) {
    for (std::size_t i = 1; i < spans.size(); ++i) {
      if (spans[i - 1]->end_ns <= spans[i]->begin_ns) continue;
      throw BadTrace(spans[i]->label + " begins before " + spans[i - 1]->label +
                     " on the same lane has ended");
    }
  }

  static void check_wait(const Timeline::Span& span, std::uint32_t count, const Spans& awaited) {
    if (count > awaited.size()) {
      throw BadTrace(span.label + " waits for step " + std::to_string(count) + " of a lane of " +
                     std::to_string(awaited.size()));
    }
    if (count == 0 || awaited[count - 1]->end_ns <= span.begin_ns) return;
    throw BadTrace(span.label + " begins before " + awaited[count - 1]->label +
                   ", which it waits for, has ended");
  }

  Timeline timeline_;
  std::string place_ = "the document";
};

}  // namespace

Result<Timeline> from_chrome_trace(std::string_view document) {
  Reader reader;
  const auto refuse = [&](const std::string& what) {
    return Unexpected(Error(Diagnostic{kBadTimeline, what, "saved timeline, " + reader.place(),
                                       "save the run with this version: to_chrome_trace, or "
                                       "Timeline.save in Python"}));
  };
  const Json parsed = Json::parse(document, nullptr, false);
  if (parsed.is_discarded()) return refuse("it is no JSON");
  try {
    return reader.read(parsed);
  } catch (const BadTrace& bad) {
    return refuse(bad.what());
  }
}

}  // namespace dynaflow
