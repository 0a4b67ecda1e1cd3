// Lesson 3: split and merge copy nothing.
//
// A micro-batch is a slice of the batch. Where any step sees several micro-batches together, their
// slices lie side by side in one buffer, so splitting and merging only change an address and a
// number of rows. Here the kernels tell where their rows are.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

#include "dynaflow/dynaflow.h"

using namespace dynaflow;

constexpr std::int64_t kColumns = 8, kRows = 9;

void expect(bool holds, const char* what) {
  if (!holds) std::exit((std::printf("not true: %s\n", what), 1));
}

// `square` on each micro-batch, `total` on all of them at once.
struct SplitThenMerge final : OpScheduler {
  std::string_view name() const override { return "SplitThenMerge"; }
  Split split(const Batch& batch) const override { return batch.by_sizes({3, 2, 4}); }
  void schedule(ScheduleContext& ctx) const override {
    for (const ReadyOp& square : ctx.get_ready_ops()) ctx.execute(square);
    ctx.execute(ctx.get_ready_ops());  // the same op of all micro-batches: one merged step
  }
};

int main() {
  std::map<std::int64_t, const std::byte*> slices;  // by first row
  const std::byte* merged = nullptr;

  const auto square = [&](const KernelArgs& args) {
    slices[args.rows.first] = args.out(0).data;
    for (std::int64_t r = 0; r < args.rows.count; ++r) {
      for (std::size_t i = 0; i < kColumns; ++i) {
        const float x = args.in(0).row<float>(r)[i];
        args.out(0).row<float>(r)[i] = x * x;
      }
    }
  };
  const auto total = [&](const KernelArgs& args) {
    merged = args.in(0).data;
    for (std::int64_t r = 0; r < args.rows.count; ++r) {
      float sum = 0;
      for (const float x : args.in(0).row<float>(r)) sum += x;
      args.out(0).row<float>(r)[0] = sum;
    }
  };

  GraphBuilder builder("norms");
  const ValueId x = builder.input("x", {Kind::kSplit, DType::kF32, kColumns});
  const ValueId u = builder.value("u", {Kind::kSplit, DType::kF32, kColumns});
  const ValueId y = builder.value("y", {Kind::kSplit, DType::kF32, 1});
  builder.op({.name = "square", .reads = {x}, .writes = {u}, .kernel = square});
  builder.op({.name = "total", .reads = {u}, .writes = {y}, .kernel = total});
  builder.output(y);

  CpuDevice cpu;
  CompiledGraph compiled(builder.build().value(), std::make_shared<SplitThenMerge>(), cpu);
  std::vector<float> inputs(kRows * kColumns, 2), norms(kRows);
  const Binding memory[] = {bind(x, inputs), bind(y, norms)};
  const auto stats = compiled.run({.rows = kRows}, memory);
  if (!stats) return std::puts(to_string(stats.error()).c_str()), 1;

  const auto bytes = [](std::int64_t rows) { return rows * kColumns * 4; };
  std::printf("slices begin at bytes %td, %td and %td of what `total` saw\n", slices[0] - merged,
              slices[3] - merged, slices[5] - merged);
  expect(slices[0] == merged, "the first slice is where the merged view begins");
  expect(slices[3] == merged + bytes(3), "the second slice follows the first");
  expect(slices[5] == merged + bytes(5), "the third slice follows the second");
  expect(norms == std::vector<float>(kRows, 4 * kColumns), "and the numbers are right");
}
