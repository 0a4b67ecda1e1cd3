// Lesson 5: read a timeline.
//
// A traced run stamps every step. The simulator gives the same kind of timeline for any costs you
// like, without running anything: it is a pure function. Both print as bars, and both open in
// Perfetto (ui.perfetto.dev) or chrome://tracing.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "dynaflow/dynaflow.h"

using namespace dynaflow;

constexpr std::int64_t kColumns = 256, kRows = 64;
constexpr Type kRow{Kind::kSplit, DType::kF32, kColumns};

void expect(bool holds, const char* what) {
  if (!holds) std::exit((std::printf("not true: %s\n", what), 1));
}

void smooth(const KernelArgs& args) {
  for (std::int64_t r = 0; r < args.rows.count; ++r) {
    const auto x = args.in(0).row<float>(r), y = args.out(0).row<float>(r);
    y[0] = x[0];
    for (std::size_t i = 1; i < x.size(); ++i) y[i] = (y[i - 1] + x[i]) / 2;
  }
}

Graph model() {
  GraphBuilder builder("layers");
  ValueId at = builder.input("x", kRow);
  for (const char* layer : {"0", "1"}) {
    const std::string name(layer);
    const ValueId sent = builder.value("sent" + name, kRow), next = builder.value("h" + name, kRow);
    builder.op({.name = "compute" + name, .reads = {at}, .writes = {sent}, .kernel = smooth});
    builder.op({.name = "send" + name,
                .reads = {sent},
                .writes = {next},
                .tags = {"network"},
                .cost = CostClass::kNetwork,
                .kernel = smooth});
    at = next;
  }
  builder.output(at);
  return builder.build().value();
}

int main() {
  const Graph graph = model();
  CpuDevice cpu;
  CompiledGraph compiled(graph, std::make_shared<Leapfrog>(), cpu);
  const auto program = compiled.program({.rows = kRows}).value();

  // Measured: run once to warm up, then ask for a trace.
  std::vector<float> inputs(kRows * kColumns, 1), outputs(kRows * kColumns);
  const Binding memory[] = {bind(graph.inputs()[0], inputs), bind(graph.outputs()[0], outputs)};
  expect(compiled.run({.rows = kRows}, memory).has_value(), "the run works");
  const auto stats = compiled.run({.rows = kRows}, memory, {.trace = RunOptions::Trace::kOn});
  if (!stats) return std::puts(to_string(stats.error()).c_str()), 1;
  const Timeline measured = program->timeline();
  std::printf("measured\n%s\n", to_string(measured).c_str());
  expect(measured.spans.size() == stats->steps, "every step is there");

  // Predicted: computing a row takes 10 ns, sending a row 10 ns. With two micro-batches of 32 rows
  // that is four times 320 ns on each lane, and only the first and the last 320 ns are alone.
  Costs costs;
  costs.ops = {{.row_ns = 10}, {.row_ns = 10}, {.row_ns = 10}, {.row_ns = 10}};
  const auto& placed = program->placed_plan();
  const auto predicted =
      simulate(graph, placed.plan(), placed.buffers(), program->placement(), costs).value();
  std::printf("predicted\n%s\n", to_string(predicted.timeline).c_str());
  expect(predicted.timeline.total_ns == 5 * 320, "five times 320 ns instead of eight");
  expect(overlapped_ns(predicted.timeline) == 3 * 320, "of which three overlap");
  expect(busy_ns(predicted.timeline, LaneId{1}) == 4 * 320, "the network is busy for four");
  expect(predicted.races.empty(), "and no byte is ever in doubt");

  const auto file = std::filesystem::temp_directory_path() / "dynaflow_lesson_05.json";
  std::ofstream(file) << to_chrome_trace(measured);
  std::printf("%s opens in ui.perfetto.dev\n", file.c_str());
  expect(std::filesystem::file_size(file) > 0, "the trace is written");
  std::filesystem::remove(file);
}
