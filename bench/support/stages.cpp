#include "support/stages.h"

#include <optional>

#include "dynaflow/base/check.h"
#include "dynaflow/placement/verify.h"
#include "dynaflow/plan/verify.h"
#include "dynaflow/schedule/verify.h"
#include "support/stopwatch.h"

namespace dynaflow::bench {

StageTimes time_stages(const Graph& graph, const OpScheduler& scheduler, const Split& split) {
  StageTimes times{};
  Schedule schedule;
  times[0] = seconds_of([&] { schedule = record(graph, scheduler, split); });
  times[1] = seconds_of([&] { DYNAFLOW_CHECK(verify(graph, schedule).empty()); });
  Plan plan;
  times[2] = seconds_of([&] { plan = make_plan(graph, schedule); });
  std::optional<HappensBefore> hb;
  times[3] = seconds_of([&] {
    DYNAFLOW_CHECK(verify_steps(graph, plan).empty());
    hb = HappensBefore::of(plan, graph).value();
    DYNAFLOW_CHECK(verify(graph, plan, *hb).empty());
  });
  Buffers buffers;
  times[4] = seconds_of([&] { buffers = make_buffers(graph, plan, *hb); });
  Placement placement;
  times[5] = seconds_of([&] {
    DYNAFLOW_CHECK(make_placement(graph, plan, buffers, split, {}, placement).has_value());
  });
  times[6] = seconds_of([&] {
    const PlacementVerifier verifier(graph, plan, buffers, *hb);
    DYNAFLOW_CHECK(verifier.verify(placement).empty());
  });
  return times;
}

}  // namespace dynaflow::bench
