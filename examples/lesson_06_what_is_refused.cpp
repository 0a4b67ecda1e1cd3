// Lesson 6: what the verifier refuses.
//
// A schedule is recorded first and judged as a whole before anything runs. Every finding has a rule
// with a stable id, names op, micro-batch and place, and says what to do. None of these mistakes
// can hang or give wrong numbers.
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "dynaflow/dynaflow.h"

using namespace dynaflow;

void expect(bool holds, const char* what) {
  if (!holds) std::exit((std::printf("not true: %s\n", what), 1));
}

// A strategy whose schedule is a function, to make mistakes in few lines.
struct Mistake final : OpScheduler {
  explicit Mistake(std::function<void(ScheduleContext&)> body) : body_(std::move(body)) {}
  std::string_view name() const override { return "Mistake"; }
  Split split(const Batch& batch) const override { return batch.even(3); }
  void schedule(ScheduleContext& ctx) const override { body_(ctx); }

 private:
  std::function<void(ScheduleContext&)> body_;
};

Graph model() {
  const Type row{Kind::kSplit, DType::kF32, 8};
  GraphBuilder builder("two_ops");
  const ValueId x = builder.input("x", row);
  const ValueId u = builder.value("u", row);
  const ValueId y = builder.value("y", row);
  builder.op({.name = "first", .reads = {x}, .writes = {u}});
  builder.op({.name = "second", .reads = {u}, .writes = {y}});
  builder.output(y);
  return builder.build().value();
}

// Records the mistake, prints what the verifier says of it, and expects this rule among it.
void show(Rule rule, std::function<void(ScheduleContext&)> body) {
  const Graph graph = model();
  const Mistake mistake(std::move(body));
  const Split split = mistake.split({.rows = 6});
  const auto well = all_well(verify(graph, record(graph, mistake, split)));
  expect(!well.has_value(), "the schedule is refused");
  std::printf("%s\n\n", to_string(well.error()).c_str());
  expect(well.error().broke(rule), "and for the right reason");
}

void finish(ScheduleContext& ctx) {
  while (ctx.unfinished()) {
    for (const ReadyOp& op : ctx.get_ready_ops()) ctx.execute(op);
  }
}

int main() {
  show(kRunTwice, [](ScheduleContext& ctx) {
    const ReadyOp op = ctx.get_ready_ops().front();
    ctx.execute(op);
    ctx.execute(op);
    finish(ctx);
  });
  show(kNeverRun, [](ScheduleContext& ctx) {
    for (const ReadyOp& op : ctx.get_ready_ops()) ctx.execute(op);  // and then home
  });
  show(kNotReady, [](ScheduleContext& ctx) {
    const ReadyOp first = ctx.get_ready_ops().front();
    ctx.execute(ctx.get_ready_after({first}));
    ctx.execute(first);
    finish(ctx);
  });
  show(kIllegalMerge, [](ScheduleContext& ctx) {
    const auto ready = ctx.get_ready_ops();
    ctx.execute({ready[0], ready[2]});  // not neighbours: their rows do not touch
    finish(ctx);
  });
  show(kNoProgress, [](ScheduleContext& ctx) {
    while (ctx.unfinished()) continue;
  });

  const auto lost = verify(Batch{.rows = 6}, Split{{3, 2}});
  std::printf("%s\n", to_string(lost.front()).c_str());
  expect(lost.front().rule.id == kBatchNotCovered.id, "a split that loses a row is refused too");
}
