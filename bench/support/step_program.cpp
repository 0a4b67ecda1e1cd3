#include "support/step_program.h"

#include <string>
#include <utility>

namespace dynaflow::bench {
namespace {

constexpr Type kRow{Kind::kSplit, DType::kF32, 1};

/// Every step on the lane its StepGraph gives it.
class OnItsLane final : public OpScheduler {
 public:
  explicit OnItsLane(const StepGraph& steps) : steps_(steps) {}

  [[nodiscard]] std::string_view name() const override { return "OnItsLane"; }
  [[nodiscard]] Split split(const Batch& batch) const override { return batch.whole(); }
  void schedule(ScheduleContext& ctx) const override {
    std::vector<Lane> lanes;
    for (std::uint32_t i = 0; i < steps_.lanes; ++i) {
      lanes.push_back(ctx.lane("lane" + std::to_string(i)));
    }
    while (ctx.unfinished()) {
      for (const ReadyOp& op : ctx.get_ready_ops()) {
        ctx.execute(op, {.lane = lanes[steps_.steps[op.id().index].lane]});
      }
    }
  }

 private:
  const StepGraph& steps_;
};

Graph make_graph(const StepGraph& steps, const StepCalls& calls) {
  GraphBuilder builder(steps.name);
  const ValueId start = builder.input("start", kRow);
  const auto followers = steps.followers();
  std::vector<ValueId> values;
  for (std::uint32_t i = 0; i < steps.steps.size(); ++i) {
    const std::string number = std::to_string(i);
    values.push_back(builder.value("v" + number, kRow));
    OpSpec op{.name = "step" + number, .writes = {values[i]}, .kernel = calls.kernel(i)};
    for (const std::uint32_t before : steps.steps[i].after) op.reads.push_back(values[before]);
    if (op.reads.empty()) op.reads.push_back(start);
    builder.op(std::move(op));
    if (followers[i].empty()) builder.output(values[i]);
  }
  return builder.build().value();
}

}  // namespace

StepProgram::StepProgram(const StepGraph& steps, const StepCalls& calls) {
  make_program(make_graph(steps, calls), steps);
  bind_all(program_->placed_plan().graph());
}

void StepProgram::make_program(Graph graph, const StepGraph& steps) {
  const OnItsLane scheduler(steps);
  const Split split = scheduler.split({.rows = 1});
  auto plan = make_placed_plan(std::make_shared<const Graph>(std::move(graph)), scheduler, split);
  program_ = std::make_unique<Program>(Program::make(plan.value(), cpu_, split).value());
}

void StepProgram::bind_all(const Graph& graph) {
  for (const auto ids : {graph.inputs(), graph.outputs()}) {
    for (const ValueId id : ids) {
      bindings_.push_back(bind(id, memory_.emplace_back(1)));
    }
  }
}

void StepProgram::run() { static_cast<void>(program_->run(bindings_).value()); }

}  // namespace dynaflow::bench
