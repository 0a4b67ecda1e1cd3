#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

#include "dynaflow/dynaflow.h"

using namespace dynaflow;

// The model: y = relu(table[ids] * w). One op waits for memory, the other computes.
constexpr std::size_t kIds = 4096, kWidth = 64, kRows = 64;

void lookup(const KernelArgs& args) {
  for (std::int64_t r = 0; r < args.rows.count; ++r) {
    const auto id = static_cast<std::size_t>(args.in(0).row<std::int64_t>(r)[0]);
    std::ranges::copy(args.in(1).row<float>(0).subspan(id * kWidth, kWidth),
                      args.out(0).row<float>(r).begin());
  }
}

void dense(const KernelArgs& args) {
  for (std::int64_t r = 0; r < args.rows.count; ++r) {
    const auto x = args.in(0).row<float>(r);
    const float* w = args.in(1).row<float>(0).data();
    for (float& y : args.out(0).row<float>(r)) {
      y = std::max(0.0F, std::inner_product(x.begin(), x.end(), w, 0.0F));
      w += kWidth;
    }
  }
}

Graph build_model(GraphBuilder model = GraphBuilder("recommender")) {
  const ValueId ids = model.input("ids", {Kind::kSplit, DType::kI64, 1});
  const ValueId table = model.input("table", {Kind::kWhole, DType::kF32, kIds * kWidth});
  const ValueId w = model.input("w", {Kind::kWhole, DType::kF32, kWidth * kWidth});
  const ValueId x = model.value("x", {Kind::kSplit, DType::kF32, kWidth});
  const ValueId y = model.value("y", {Kind::kSplit, DType::kF32, kWidth});
  model.op({.name = "lookup",
            .reads = {ids, table},
            .writes = {x},
            .cost = CostClass::kMemory,
            .kernel = lookup});
  model.op({.name = "dense", .reads = {x, w}, .writes = {y}, .kernel = dense});
  model.output(y);
  return model.build().value();
}

// The schedule: while one half of the batch computes, the other half's rows are fetched.
struct FetchAhead final : OpScheduler {
  std::string_view name() const override { return "FetchAhead"; }
  Split split(const Batch& batch) const override {
    return batch.rows >= 16 ? batch.even(2) : batch.whole();
  }
  void schedule(ScheduleContext& ctx) const override {
    const Lane compute = ctx.lane("compute"), memory = ctx.lane("memory");
    while (ctx.unfinished()) {
      for (const ReadyOp& op : ctx.get_ready_ops()) {
        ctx.execute(op, {.lane = op.cost() == CostClass::kMemory ? memory : compute});
      }
    }
  }
};

int main() {
  std::vector<std::int64_t> ids(kRows);
  std::vector<float> table(kIds * kWidth), w(kWidth * kWidth), whole(kRows * kWidth), halves(whole);
  for (std::size_t i = 0; i < kRows; ++i) ids[i] = static_cast<std::int64_t>(i * 577 % kIds);
  std::iota(table.begin(), table.end(), -1e5F);
  std::iota(w.begin(), w.end(), -2e3F);

  CpuDevice cpu;
  const auto run = [&](std::shared_ptr<const OpScheduler> strategy, std::vector<float>& y) {
    CompiledGraph model(build_model(), strategy, cpu);
    const auto in = model.graph().inputs(), out = model.graph().outputs();
    const Binding memory[] = {bind(in[0], ids), bind(in[1], table), bind(in[2], w),
                              bind(out[0], y)};
    if (const auto stats = model.run({.rows = kRows}, memory); !stats) {
      std::printf("%s\n", to_string(stats.error()).c_str());
    }
    return to_string(model.program({.rows = kRows}).value()->plan(), model.graph());
  };
  run(std::make_shared<Sequential>(), whole);
  std::printf("%s", run(std::make_shared<FetchAhead>(), halves).c_str());
  std::printf("equal to the unsplit model, bit for bit: %s\n", halves == whole ? "yes" : "no");
  return halves == whole ? 0 : 1;
}
