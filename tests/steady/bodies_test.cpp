// Bodies, scratch and symbols cost a steady run no allocation and no copy.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

#include "dynaflow/dynaflow.h"
#include "steady/counters.h"
#include "support/counting_body.h"
#include "support/models.h"

namespace dynaflow::testing {
namespace {

constexpr int kRuns = 100;

/// Adds one, by way of its scratch.
void add_one(const KernelArgs& args) {
  const std::span scratch(reinterpret_cast<std::int64_t*>(args.scratch.data()),
                          args.scratch.size() / 8);
  std::size_t at = 0;
  for (std::int64_t row = 0; row < args.rows.count; ++row) {
    for (const std::int64_t number : args.in(0).row<std::int64_t>(row)) {
      scratch[at++] = number + 1;
    }
  }
  at = 0;
  for (std::int64_t row = 0; row < args.rows.count; ++row) {
    for (std::int64_t& number : args.out(0).row<std::int64_t>(row)) number = scratch[at++];
  }
}

/// Six ops of one body in two lanes and two micro-batches, for rows of two lengths in turn.
Counts counts_of_steady_runs() {
  const auto body = std::make_shared<CountingBody>(
      add_one, [](const BindArgs& args) { return args.rows.count * args.symbols[0] * 8; });
  GraphBuilder builder;
  const SymbolId length = builder.symbol("length");
  const Type row{Kind::kSplit, DType::kI64, length};
  const ValueId x = builder.input("x", row);
  ValueId y = x;
  for (int i = 0; i < 6; ++i) {
    const ValueId next = builder.value("v" + std::to_string(i), row);
    builder.op({.name = "op" + std::to_string(i), .reads = {y}, .writes = {next}, .body = body});
    y = next;
  }
  builder.output(y);
  CpuDevice cpu;
  CompiledGraph compiled(builder.build().value(), std::make_shared<Branches>(2, 2), cpu);
  const std::array batches{Batch{.rows = 8, .symbols = {4}}, Batch{.rows = 8, .symbols = {7}}};
  std::vector<std::int64_t> in(56, 1);
  std::vector<std::int64_t> out(56);
  int failures = 0;
  const auto run_all = [&] {
    for (const Batch& batch : batches) {
      const auto size = static_cast<std::size_t>(8 * batch.symbols[0]);
      const std::array bindings{bind(x, std::span(in).first(size)),
                                bind(y, std::span(out).first(size))};
      if (!compiled.run(batch, bindings) || out[size - 1] != 7) ++failures;
    }
  };
  run_all();
  start_counting();
  for (int i = 0; i < kRuns; ++i) run_all();
  const Counts counts = stop_counting();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(body->binds(), 4);  // two lengths on two lanes
  return counts;
}

TEST(SteadyBodies, AllocateNothing) { EXPECT_EQ(counts_of_steady_runs().allocations, 0); }

TEST(SteadyBodies, CopyNothing) { EXPECT_EQ(counts_of_steady_runs().copied_bytes, 0); }

}  // namespace
}  // namespace dynaflow::testing
