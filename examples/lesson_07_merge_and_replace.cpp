// Lesson 7: merge micro-batches, and replace ops by a fused kernel.
//
// Merging gives a small op enough rows to be worth a call. A replacement computes a chain of ops in
// one kernel: it states the types it was written for, which are checked, and what only the chain
// touches is never materialised.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "dynaflow/dynaflow.h"

using namespace dynaflow;

constexpr std::int64_t kColumns = 32, kRows = 12;
constexpr Type kRow{Kind::kSplit, DType::kF32, kColumns};

void expect(bool holds, const char* what) {
  if (!holds) std::exit((std::printf("not true: %s\n", what), 1));
}

// A kernel that applies a function to every number.
template <class Fn>
Kernel each(Fn fn) {
  return [fn](const KernelArgs& args) {
    for (std::int64_t r = 0; r < args.rows.count; ++r) {
      const auto x = args.in(0).row<float>(r), y = args.out(0).row<float>(r);
      for (std::size_t i = 0; i < x.size(); ++i) y[i] = fn(x[i]);
    }
  };
}

const auto scale = [](float x) { return x * 0.5F; };
const auto swish = [](float x) { return x / (1 + std::exp(-x)); };

// scale and swish fused, per micro-batch; head merged over all of them.
struct FuseAndMerge final : OpScheduler {
  std::string_view name() const override { return "FuseAndMerge"; }
  Split split(const Batch& batch) const override { return batch.even(3); }
  void schedule(ScheduleContext& ctx) const override {
    for (const ReadyOp& first : ctx.get_ready_ops()) {
      const ReadyOp second = ctx.get_ready_after({first}).front();
      ctx.execute({first, second}, {.replace_func = Replacement{
                                        .name = "scaled_swish",
                                        .inputs = {kRow},
                                        .outputs = {kRow},
                                        .kernel = each([](float x) { return swish(scale(x)); })}});
    }
    ctx.execute(ctx.get_ready_ops());  // head of all three
  }
};

int main() {
  GraphBuilder builder("activation");
  const ValueId x = builder.input("x", kRow);
  const ValueId u = builder.value("u", kRow);
  const ValueId v = builder.value("v", kRow);
  const ValueId y = builder.value("y", kRow);
  builder.op({.name = "scale", .reads = {x}, .writes = {u}, .kernel = each(scale)});
  builder.op({.name = "swish", .reads = {u}, .writes = {v}, .kernel = each(swish)});
  builder.op({.name = "head", .reads = {v}, .writes = {y}, .kernel = each(scale)});
  builder.output(y);
  const Graph graph = builder.build().value();

  std::vector<float> inputs(kRows * kColumns);
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = float(i % 17) - 8;

  CpuDevice cpu;
  const auto run = [&](std::shared_ptr<const OpScheduler> strategy, std::uint64_t steps) {
    CompiledGraph compiled(graph, strategy, cpu);
    std::vector<float> outputs(inputs.size());
    const Binding memory[] = {bind(x, inputs), bind(y, outputs)};
    const auto stats = compiled.run({.rows = kRows}, memory);
    if (!stats) std::puts(to_string(stats.error()).c_str());
    expect(stats.has_value() && stats->steps == steps, "as many steps as the schedule has");
    const auto program = compiled.program({.rows = kRows}).value();
    std::printf("%s", to_string(program->plan(), graph).c_str());
    std::printf("%s\n",
                to_string(program->placement(), program->placed_plan().buffers(), graph).c_str());
    return outputs;
  };
  const auto plain = run(std::make_shared<Sequential>(3), 9);
  const auto fused = run(std::make_shared<FuseAndMerge>(), 4);
  expect(plain == fused, "the same bits, with u nowhere to be seen");
}
