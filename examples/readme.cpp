#include <cstdio>
#include <vector>

#include "dynaflow/dynaflow.h"

using namespace dynaflow;

// y = relu(table[ids] * w): one op is bound by memory, the other by arithmetic.
constexpr std::int64_t kIds = 1 << 12, kIn = 64, kOut = 32, kRows = 64;

void lookup(const KernelArgs& args) {
  for (std::int64_t r = 0; r < args.rows.count; ++r) {
    const auto id = static_cast<std::size_t>(args.in(0).row<std::int64_t>(r)[0]);
    for (std::size_t i = 0; i < kIn; ++i) {
      args.out(0).row<float>(r)[i] = args.in(1).row<float>(0)[id * kIn + i];
    }
  }
}

void dense(const KernelArgs& args) {
  for (std::int64_t r = 0; r < args.rows.count; ++r) {
    for (std::size_t o = 0; o < kOut; ++o) {
      float sum = 0;
      for (std::size_t i = 0; i < kIn; ++i) {
        sum += args.in(0).row<float>(r)[i] * args.in(1).row<float>(0)[o * kIn + i];
      }
      args.out(0).row<float>(r)[o] = sum > 0 ? sum : 0;
    }
  }
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
  GraphBuilder model("recommender");
  const ValueId ids = model.input("ids", {Kind::kSplit, DType::kI64, 1});
  const ValueId table = model.input("table", {Kind::kWhole, DType::kF32, kIds * kIn});
  const ValueId w = model.input("w", {Kind::kWhole, DType::kF32, kOut * kIn});
  const ValueId x = model.value("x", {Kind::kSplit, DType::kF32, kIn});
  const ValueId y = model.value("y", {Kind::kSplit, DType::kF32, kOut});
  model.op({.name = "lookup",
            .reads = {ids, table},
            .writes = {x},
            .cost = CostClass::kMemory,
            .kernel = lookup});
  model.op({.name = "dense", .reads = {x, w}, .writes = {y}, .kernel = dense});
  model.output(y);
  const Graph graph = model.build().value();

  std::vector<std::int64_t> id_rows(kRows);
  std::vector<float> tables(kIds * kIn), weights(kOut * kIn), plain(kRows * kOut), fast(plain);
  for (std::size_t i = 0; i < id_rows.size(); ++i) id_rows[i] = std::int64_t(i * 2654435761 % kIds);
  for (std::size_t i = 0; i < tables.size(); ++i) tables[i] = float(i % 97) - 48;
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = float(i % 31) - 15;

  CpuDevice cpu;
  const auto run = [&](std::shared_ptr<const OpScheduler> strategy, std::vector<float>& out) {
    CompiledGraph compiled(graph, strategy, cpu);
    const Binding memory[] = {bind(ids, id_rows), bind(table, tables), bind(w, weights),
                              bind(y, out)};
    const auto stats = compiled.run({.rows = kRows}, memory);
    if (!stats) return std::puts(to_string(stats.error()).c_str()), 1;
    const auto program = compiled.program({.rows = kRows}).value();
    return std::printf("%s\n", to_string(program->plan(), graph).c_str()), 0;
  };
  const int failed =
      run(std::make_shared<Sequential>(), plain) + run(std::make_shared<FetchAhead>(), fast);
  std::printf("equal to the unsplit model, bit for bit: %s\n", fast == plain ? "yes" : "no");
  return failed + (fast != plain);
}
