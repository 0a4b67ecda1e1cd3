// Lesson 4: two lanes.
//
// A lane is an in-order queue; lanes run side by side. The schedule says which op goes where, and
// the library finds out, from what the ops read and write, which step must wait for which. A wait
// that another one implies is left out.
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "dynaflow/dynaflow.h"

using namespace dynaflow;

constexpr std::int64_t kColumns = 64, kRows = 32;
constexpr Type kRow{Kind::kSplit, DType::kF32, kColumns};

void expect(bool holds, const char* what) {
  if (!holds) std::exit((std::printf("not true: %s\n", what), 1));
}

void dense(const KernelArgs& args) {
  const auto weights = args.in(1).row<float>(0);
  for (std::int64_t r = 0; r < args.rows.count; ++r) {
    const auto x = args.in(0).row<float>(r);
    for (std::size_t o = 0; o < kColumns; ++o) {
      args.out(0).row<float>(r)[o] =
          std::inner_product(x.begin(), x.end(), weights.begin() + o * kColumns, 0.0F);
    }
  }
}

void gate(const KernelArgs& args) {
  for (std::int64_t r = 0; r < args.rows.count; ++r) {
    for (std::size_t i = 0; i < kColumns; ++i) {
      args.out(0).row<float>(r)[i] =
          args.in(0).row<float>(r)[i] * std::max(args.in(1).row<float>(r)[i], 0.0F);
    }
  }
}

// The two halves of a gated layer need nothing of each other: each gets a lane.
struct SideBySide final : OpScheduler {
  std::string_view name() const override { return "SideBySide"; }
  Split split(const Batch& batch) const override { return batch.whole(); }
  void schedule(ScheduleContext& ctx) const override {
    const Lane left = ctx.lane("left"), right = ctx.lane("right");
    while (ctx.unfinished()) {
      for (const ReadyOp& op : ctx.get_ready_ops()) {
        ctx.execute(op, {.lane = op.name() == "gate_proj" ? right : left});
      }
    }
  }
};

int main() {
  GraphBuilder builder("gated");
  const ValueId x = builder.input("x", kRow);
  const ValueId w = builder.input("w", {Kind::kWhole, DType::kF32, kColumns * kColumns});
  const ValueId up = builder.value("up", kRow);
  const ValueId open = builder.value("open", kRow);
  const ValueId y = builder.value("y", kRow);
  builder.op({.name = "up_proj", .reads = {x, w}, .writes = {up}, .kernel = dense});
  builder.op({.name = "gate_proj", .reads = {x, w}, .writes = {open}, .kernel = dense});
  builder.op({.name = "gate", .reads = {up, open}, .writes = {y}, .kernel = gate});
  builder.output(y);
  const Graph graph = builder.build().value();

  std::vector<float> inputs(kRows * kColumns), weights(kColumns * kColumns);
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = float(i % 11) - 5;
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = float(i % 13) - 6;

  CpuDevice cpu;
  const auto run = [&](std::shared_ptr<const OpScheduler> strategy) {
    CompiledGraph compiled(graph, strategy, cpu);
    std::vector<float> outputs(inputs.size());
    const Binding memory[] = {bind(x, inputs), bind(w, weights), bind(y, outputs)};
    expect(compiled.run({.rows = kRows}, memory).has_value(), "the run works");
    const auto program = compiled.program({.rows = kRows}).value();
    std::printf("%s\n", to_string(program->plan(), graph).c_str());
    expect(program->plan().step_waits.size() + 1 == program->plan().lanes.size(),
           "gate waits for gate_proj where that is on another lane, and for nothing else");
    return outputs;
  };
  const auto plain = run(std::make_shared<Sequential>());
  const auto fast = run(std::make_shared<SideBySide>());
  expect(plain == fast, "both schedules give the same bits");
}
