// Lesson 2: every stage prints itself, and is checked before the next one.
//
// Graph -> Schedule -> Plan -> Placement: the same words in the text, in the code and in messages.
// Nothing here runs; a graph that is only looked at needs no kernels.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "dynaflow/dynaflow.h"

using namespace dynaflow;

void expect(bool holds, const char* what) {
  if (!holds) std::exit((std::printf("not true: %s\n", what), 1));
}

Graph model() {
  const Type row{Kind::kSplit, DType::kF32, 64};
  GraphBuilder builder("block");
  const ValueId x = builder.input("x", row);
  const ValueId a = builder.value("a", row);
  const ValueId r = builder.value("r", row);
  const ValueId y = builder.value("y", row);
  builder.op({.name = "attn", .reads = {x}, .writes = {a}});
  builder.op({.name = "reduce", .reads = {a}, .writes = {r}, .tags = {"network"}});
  builder.op({.name = "mlp", .reads = {r}, .writes = {y}});
  builder.output(y);
  return builder.build().value();
}

int main() {
  const auto graph = std::make_shared<const Graph>(model());
  std::printf("%s\n", to_string(*graph).c_str());

  // What the strategy did when it was asked: recorded, not yet believed.
  const Leapfrog strategy;
  const Split split = strategy.split({.rows = 8});
  const Schedule schedule = record(*graph, strategy, split);
  std::printf("%s\n", to_string(schedule, *graph).c_str());
  expect(verify(*graph, schedule).empty(), "the schedule breaks no rule");

  // Steps on lanes. `<attn.0` is a wait: derived from the data, and only where no other order
  // implies it already.
  const Plan plan = make_plan(*graph, schedule);
  const std::string picture = to_string(plan, *graph);
  std::printf("%s\n", picture.c_str());
  expect(picture ==
             "plan  2 microbatches, 2 lanes, 6 steps, 4 waits\n"
             "  compute | attn.0   attn.1             mlp.0 <reduce.0    mlp.1 <reduce.1\n"
             "  network |          reduce.0 <attn.0   reduce.1 <attn.1\n",
         "the picture is the one in this file");

  // The plan is checked again, by code that shares nothing with its maker, and gets its memory:
  // here, buffers for one size. Other sizes take the same plan and another placement.
  const auto placed = PlacedPlan::make(graph, plan).value();
  Placement placement;
  expect(placed->place(split, {}, placement).has_value(), "the placement breaks no rule");
  std::printf("%s", to_string(placement, placed->buffers(), *graph).c_str());
  expect(placement.arena_bytes == 3 * 1024, "four buffers in three: r.1 is where a.0 was");
}
