// Lesson 8: state.
//
// What an op changes outside its values is declared as an effect on a named state. A KV cache
// belongs to its rows: micro-batches touch different parts of it and stay independent. A counter
// belongs to nobody: whoever changes it runs once per batch, and in program order.
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "dynaflow/dynaflow.h"

using namespace dynaflow;

constexpr std::int64_t kRows = 4, kWidth = 8, kSteps = 3;
constexpr Type kRow{Kind::kSplit, DType::kF32, kWidth};

void expect(bool holds, const char* what) {
  if (!holds) std::exit((std::printf("not true: %s\n", what), 1));
}

// Outside the graph: what each row has seen so far, and how many tokens there were.
struct Model {
  std::vector<std::vector<float>> cache{kRows};
  std::int64_t tokens = 0;

  void remember(const KernelArgs& args) {
    for (std::int64_t r = 0; r < args.rows.count; ++r) {
      const auto x = args.in(0).row<float>(r);
      auto& mine = cache[static_cast<std::size_t>(args.rows.first + r)];  // this row of the batch
      mine.push_back(std::accumulate(x.begin(), x.end(), 0.0F));
    }
  }
  void attend(const KernelArgs& args) const {
    for (std::int64_t r = 0; r < args.rows.count; ++r) {
      const auto& mine = cache[static_cast<std::size_t>(args.rows.first + r)];
      const float seen = std::accumulate(mine.begin(), mine.end(), 0.0F);
      for (std::size_t i = 0; i < kWidth; ++i) {
        args.out(0).row<float>(r)[i] = args.in(0).row<float>(r)[i] * seen;
      }
    }
  }
};

int main() {
  Model model;
  GraphBuilder builder("decode");
  const StateId cache = builder.state("kv_cache"), counter = builder.state("counter");
  const ValueId x = builder.input("x", kRow);
  const ValueId y = builder.value("y", kRow);
  const OpId remember =
      builder.op({.name = "remember",
                  .reads = {x},
                  .effects = {{cache, Access::kUpdate, Rows::kOwn}},
                  .kernel = [&](const KernelArgs& args) { model.remember(args); }});
  builder.op({.name = "attend",
              .reads = {x},
              .writes = {y},
              .effects = {{cache, Access::kRead, Rows::kOwn}},
              .kernel = [&](const KernelArgs& args) { model.attend(args); }});
  const OpId count = builder.op({.name = "count",
                                 .effects = {{counter, Access::kUpdate, Rows::kAll}},
                                 .kernel = [&](const KernelArgs&) { model.tokens += kRows; }});
  builder.output(y);
  const Graph graph = builder.build().value();
  std::printf("%s\n", to_string(graph).c_str());
  expect(graph.op(remember).runs == RunsPer::kMicrobatch, "rows keep their own cache");
  expect(graph.op(count).runs == RunsPer::kBatch, "the counter is one for all");

  CpuDevice cpu;
  CompiledGraph compiled(graph, std::make_shared<Branches>(2, 2), cpu);
  const std::vector<float> ones(kRows * kWidth, 1);
  std::vector<float> outputs(ones.size());
  const Binding memory[] = {bind(x, ones), bind(y, outputs)};
  for (int step = 0; step < kSteps; ++step) {
    const auto stats = compiled.run({.rows = kRows}, memory);
    if (!stats) return std::puts(to_string(stats.error()).c_str()), 1;
  }
  std::printf("%s", to_string(compiled.program({.rows = kRows}).value()->plan(), graph).c_str());
  expect(outputs[0] == kSteps * kWidth, "attend saw every token of its row, the newest included");
  expect(model.cache[kRows - 1].size() == kSteps, "every row remembers once per step");
  expect(model.tokens == kSteps * kRows, "the batch was counted once per step, not per microbatch");
}
