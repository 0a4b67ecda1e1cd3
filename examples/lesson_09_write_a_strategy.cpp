// Lesson 9: write a strategy.
//
// Prefetch looks rows up on a lane of its own, but never more than two micro-batches ahead of the
// arithmetic, so that the arena holds a window of the batch. It uses what a strategy has: requests,
// lanes with shares, rows(), and an order of its own on top of what the data demands.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "dynaflow/dynaflow.h"

using namespace dynaflow;

constexpr std::int64_t kIds = 4096, kWidth = 64;
const Batch kBatch{.rows = 96, .requests = {20, 8, 16, 12, 4, 16, 20}};

void expect(bool holds, const char* what) {
  if (!holds) std::exit((std::printf("not true: %s\n", what), 1));
}

void lookup(const KernelArgs& args) {
  const auto table = args.in(1).row<float>(0);
  for (std::int64_t r = 0; r < args.rows.count; ++r) {
    const auto id = static_cast<std::size_t>(args.in(0).row<std::int64_t>(r)[0]);
    std::ranges::copy(table.subspan(id * kWidth, kWidth), args.out(0).row<float>(r).begin());
  }
}

void score(const KernelArgs& args) {
  for (std::int64_t r = 0; r < args.rows.count; ++r) {
    const auto x = args.in(0).row<float>(r);
    args.out(0).row<float>(r)[0] = std::inner_product(x.begin(), x.end(), x.begin(), 0.0F);
  }
}

struct Prefetch final : OpScheduler {
  std::string_view name() const override { return "Prefetch"; }
  // Decided once per batch, from plain integers. No request is cut in two.
  Split split(const Batch& batch) const override { return batch.at_requests(6); }

  // Recorded once per plan: the largest micro-batch first. Whoever asks for rows() gets a plan for
  // these sizes only.
  void schedule(ScheduleContext& ctx) const override {
    const Lane compute = ctx.lane("compute");
    const Lane memory = ctx.lane("memory", Share{.cores = 0});  // mostly waits: needs no core
    std::vector<Microbatch> order;
    for (const Microbatch mb : ctx.microbatches()) order.push_back(mb);
    std::ranges::stable_sort(order, std::greater(), [&](Microbatch mb) { return ctx.rows(mb); });
    std::vector<IssuedStep> scored;
    for (std::size_t i = 0; i < order.size(); ++i) {
      ExecuteOptions ahead{.lane = memory};
      if (i >= 2) ahead.after = {scored[i - 2]};
      ctx.execute(ctx.get_ready_ops(order[i]), ahead);                                // lookup
      scored.push_back(ctx.execute(ctx.get_ready_ops(order[i]), {.lane = compute}));  // score
    }
  }
};

int main() {
  GraphBuilder builder("embedding");
  const ValueId ids = builder.input("ids", {Kind::kSplit, DType::kI64, 1});
  const ValueId table = builder.input("table", {Kind::kWhole, DType::kF32, kIds * kWidth});
  const ValueId x = builder.value("x", {Kind::kSplit, DType::kF32, kWidth});
  const ValueId y = builder.value("y", {Kind::kSplit, DType::kF32, 1});
  builder.op({.name = "lookup", .reads = {ids, table}, .writes = {x}, .kernel = lookup});
  builder.op({.name = "score", .reads = {x}, .writes = {y}, .kernel = score});
  builder.output(y);
  const Graph graph = builder.build().value();

  std::vector<std::int64_t> id_rows(96);
  for (std::size_t i = 0; i < id_rows.size(); ++i) id_rows[i] = std::int64_t(i * 977 % kIds);
  std::vector<float> rows(kIds * kWidth), plain(96), fast(96);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = float(i % 89) - 44;

  CpuDevice cpu;
  const auto run = [&](std::shared_ptr<const OpScheduler> strategy, std::vector<float>& out) {
    CompiledGraph compiled(graph, strategy, cpu);
    const Binding memory[] = {bind(ids, id_rows), bind(table, rows), bind(y, out)};
    const auto stats = compiled.run(kBatch, memory);
    if (!stats) std::exit((std::puts(to_string(stats.error()).c_str()), 1));
    std::printf("%s\n", to_string(compiled.program(kBatch).value()->plan(), graph).c_str());
    return stats->arena_bytes;
  };
  const std::int64_t whole = run(std::make_shared<Sequential>(), plain);
  const std::int64_t window = run(std::make_shared<Prefetch>(), fast);
  expect(plain == fast, "the strategy gives the plain model's bits");
  expect(window * 2 <= whole, "and holds a window of the rows instead of all of them");
}
