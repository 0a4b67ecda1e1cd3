// Lesson 1: build a graph and run it.
//
// A graph is ops in program order over values. An input and an output are the caller's memory; all
// between lives in an arena that the library owns. A kernel is a function of views.
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "dynaflow/dynaflow.h"

using namespace dynaflow;

constexpr std::int64_t kIn = 16, kHidden = 32, kRows = 10;

void expect(bool holds, const char* what) {
  if (!holds) std::exit((std::printf("not true: %s\n", what), 1));
}

// Every row of in(0) times the matrix in(1). A value without rows, as a weight, is one row.
void dense(const KernelArgs& args) {
  const auto weights = args.in(1).row<float>(0);
  for (std::int64_t r = 0; r < args.rows.count; ++r) {
    const auto x = args.in(0).row<float>(r);
    const auto y = args.out(0).row<float>(r);
    for (std::size_t o = 0; o < y.size(); ++o) {
      y[o] = std::inner_product(x.begin(), x.end(), weights.begin() + o * x.size(), 0.0F);
    }
  }
}

void relu(const KernelArgs& args) {
  for (std::int64_t r = 0; r < args.rows.count; ++r) {
    for (float& number : args.out(0).row<float>(r)) number = std::max(number, 0.0F);
  }
}

int main() {
  // y = relu(x * w). Split values have one row per batch row; whole values have none.
  GraphBuilder builder("layer");
  const ValueId x = builder.input("x", {Kind::kSplit, DType::kF32, kIn});
  const ValueId w = builder.input("w", {Kind::kWhole, DType::kF32, kHidden * kIn});
  const ValueId y = builder.value("y", {Kind::kSplit, DType::kF32, kHidden});
  builder.op({.name = "dense", .reads = {x, w}, .writes = {y}, .kernel = dense});
  builder.op({.name = "relu", .updates = {y}, .kernel = relu});  // in place
  builder.output(y);

  // `build` checks everything at once. A mistake is a value with a message, never an abort.
  Result<Graph> graph = builder.build();
  if (!graph) return std::puts(to_string(graph.error()).c_str()), 1;

  // A graph, a strategy and a device. Sequential is the plain model: one op after the other.
  CpuDevice cpu;
  CompiledGraph compiled(*graph, std::make_shared<Sequential>(), cpu);

  std::vector<float> inputs(kRows * kIn), weights(kHidden * kIn), outputs(kRows * kHidden);
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = float(i % 7) - 2;
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = float(i % 5) - 1;
  const Binding memory[] = {bind(x, inputs), bind(w, weights), bind(y, outputs)};
  const Result<Stats> stats = compiled.run({.rows = kRows}, memory);
  if (!stats) return std::puts(to_string(stats.error()).c_str()), 1;

  std::printf("%llu steps, first number %g\n", static_cast<unsigned long long>(stats->steps),
              outputs[0]);
  expect(stats->steps == 2, "two ops, two steps");
  float by_hand = 0;
  for (std::size_t i = 0; i < kIn; ++i) by_hand += inputs[i] * weights[i];
  expect(outputs[0] == std::max(by_hand, 0.0F), "the first number is the one computed by hand");
}
