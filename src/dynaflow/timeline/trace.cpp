#include <nlohmann/json.hpp>

#include "dynaflow/timeline/timeline.h"
#include "dynaflow/timeline/trace_format.h"

namespace dynaflow {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kProcess = 1;

/// Thread 0 is the idle thread to Perfetto, so lanes are counted from 1.
std::uint32_t thread_of(LaneId lane) { return lane.index + 1; }

double in_us(std::int64_t ns) { return static_cast<double>(ns) / 1000.0; }

Json process_name() {
  return {
      {"ph", "M"}, {"name", "process_name"}, {"pid", kProcess}, {"args", {{"name", "dynaflow"}}}};
}

Json lane_metadata(LaneId lane, const char* what, Json args) {
  return {{"ph", "M"},
          {"name", what},
          {"pid", kProcess},
          {"tid", thread_of(lane)},
          {"args", std::move(args)}};
}

Json waits_of(const Timeline::Span& span) {
  Json waits = Json::array();
  for (const Wait& wait : span.waits) waits.push_back({{"lane", wait.lane}, {"count", wait.count}});
  return waits;
}

Json complete_event(const Timeline::Span& span) {
  const std::string cost = to_string(span.cost);
  Json event{{"ph", "X"},
             {"name", span.label},
             {"cat", cost},
             {"ts", in_us(span.begin_ns)},
             {"dur", in_us(span.end_ns - span.begin_ns)},
             {"pid", kProcess},
             {"tid", thread_of(span.lane)},
             {"args",
              {{"cost", cost},
               {"step", span.step.index},
               {"microbatches", {span.microbatches.first, span.microbatches.last}},
               {"waits", waits_of(span)}}}};
  if (span.cpu_ns != Timeline::Span::kUnknown) event["tdur"] = in_us(span.cpu_ns);
  return event;
}

}  // namespace

std::string to_chrome_trace(const Timeline& timeline) {
  Json events = Json::array({process_name()});
  for (std::size_t i = 0; i < timeline.lanes.size(); ++i) {
    const LaneId lane = id_at<LaneId>(i);
    events.push_back(lane_metadata(lane, "thread_name", {{"name", timeline.lanes[i]}}));
    events.push_back(lane_metadata(lane, "thread_sort_index", {{"sort_index", i}}));
  }
  for (const Timeline::Span& span : timeline.spans) events.push_back(complete_event(span));
  const Json trace = {{"displayTimeUnit", "ns"},
                      {"otherData", {{"format", kTraceFormat}, {"total_ns", timeline.total_ns}}},
                      {"traceEvents", std::move(events)}};
  // A name that is not UTF-8 must not cost the whole trace.
  return trace.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace dynaflow
