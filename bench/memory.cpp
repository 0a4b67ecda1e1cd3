// How near the arena is to the bytes that must be live at one step, whatever the packing.
#include <memory>
#include <string>
#include <vector>

#include "dynaflow/base/check.h"
#include "dynaflow/dynaflow.h"
#include "support/decoder.h"
#include "support/decoder_backward.h"
#include "support/report.h"

namespace dynaflow::bench {
namespace {

constexpr std::int64_t kRows = 512;
constexpr double kOneLane = 1.05;
constexpr double kTwoLanes = 1.25;

struct Case {
  std::string name;
  std::shared_ptr<const OpScheduler> scheduler;
  Split split;
  double budget;
};

std::vector<Case> cases() {
  const Batch batch{.rows = kRows};
  return {{"Sequential(1)", std::make_shared<Sequential>(1), batch.even(1), kOneLane},
          {"Sequential(2)", std::make_shared<Sequential>(2), batch.even(2), kOneLane},
          {"Leapfrog(2)", std::make_shared<Leapfrog>(2), batch.even(2), kTwoLanes},
          {"Leapfrog(8), uneven", std::make_shared<Leapfrog>(8),
           batch.by_sizes({100, 7, 64, 33, 120, 1, 90, 97}), kTwoLanes},
          {"Branches(2)", std::make_shared<Branches>(2), batch.even(1), kTwoLanes}};
}

void bench_graph(Report& report, const std::string& name, const std::shared_ptr<const Graph>& graph,
                 const Case& of) {
  const auto placed = make_placed_plan(graph, *of.scheduler, of.split).value();
  Placement placement;
  DYNAFLOW_CHECK(placed->place(of.split, {}, placement).has_value());
  const auto arena = static_cast<double>(placement.arena_bytes);
  const auto bound = static_cast<double>(
      must_be_live(*graph, placed->plan(), placed->buffers(), placement, placed->happens_before()));
  const std::string label = name + ", " + of.name + ": ";
  report.add({label + "arena", exactly(arena), "bytes"});
  report.add({label + "must be live", exactly(bound), "bytes"});
  report.add({label + "arena over that", exactly(arena / bound), "x", of.budget});
}

}  // namespace
}  // namespace dynaflow::bench

int main() {
  using namespace dynaflow;
  using namespace dynaflow::bench;
  Report report("memory", "peak arena of a decoder of 32 layers, 512 rows");
  const DecoderShape shape;
  const auto forward = std::make_shared<const Graph>(make_inference_decoder(shape));
  const auto training = std::make_shared<const Graph>(make_training_decoder(shape));
  for (const auto& each : cases()) bench_graph(report, "forward", forward, each);
  for (const auto& each : cases()) bench_graph(report, "training", training, each);
  report.finish();
}
