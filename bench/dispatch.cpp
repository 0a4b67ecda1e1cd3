// What it costs to run one step of a plan: empty kernels, so that all that is left is the runtime.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "support/condvar_pool.h"
#include "support/flow_graph.h"
#include "support/lane_arenas.h"
#include "support/report.h"
#include "support/rounds.h"
#include "support/step_graph.h"
#include "support/step_program.h"
#include "support/stopwatch.h"

namespace dynaflow::bench {
namespace {

constexpr std::uint32_t kSteps = 1'000;
constexpr std::uint32_t kMeeting = 10;

/// One way to run the graph. A sample is `batch` runs, long enough for the clock; a measurement is
/// the median of `samples`, so that a time slice lost to another process does not count.
struct Contender {
  std::string name;
  std::function<void()> run;
  int batch = 1;
  int samples = 1;
};

void calibrate(Contender& contender) {
  constexpr double kSample = 50e-6;
  constexpr double kMeasurement = 5e-3;
  contender.run();
  const double once = seconds_of(contender.run);
  contender.batch = std::max(1, static_cast<int>(kSample / once));
  contender.samples = std::clamp(static_cast<int>(kMeasurement / (once * contender.batch)), 5, 51);
}

/// Microseconds per step.
double measure(const Contender& contender) {
  std::vector<double> samples;
  for (int i = 0; i < contender.samples; ++i) {
    samples.push_back(seconds_of([&] {
      for (int k = 0; k < contender.batch; ++k) contender.run();
    }));
  }
  return spread_of(std::move(samples)).median / contender.batch / kSteps * 1e6;
}

Rounds compete(std::vector<Contender>& contenders) {
  std::ranges::for_each(contenders, calibrate);
  return measure_rounds([&] {
    std::vector<double> values;
    for (const Contender& contender : contenders) values.push_back(measure(contender));
    return values;
  });
}

/// The contenders after the plain loop (first) and DynaFlow (second) are rivals.
constexpr std::size_t kOurs = 1;

void report_costs(Report& report, const StepGraph& graph, const std::vector<Contender>& contenders,
                  const Rounds& rounds, std::optional<double> budget) {
  const auto cost = [&](std::size_t arm) {
    return
        [arm](const std::vector<double>& round) { return round[arm] - round[Rounds::kBaseline]; };
  };
  for (std::size_t arm = kOurs; arm < contenders.size(); ++arm) {
    report.add({graph.name + ": " + contenders[arm].name, rounds.spread(cost(arm)), "µs/step",
                arm == kOurs ? budget : std::nullopt});
  }
  for (std::size_t arm = kOurs + 1; arm < contenders.size(); ++arm) {
    const auto ratio = [&](const std::vector<double>& round) {
      return cost(kOurs)(round) / cost(arm)(round);
    };
    report.add(
        {graph.name + ": DynaFlow over " + contenders[arm].name, rounds.spread(ratio), "x", 1.0});
  }
  report.add({graph.name + ": the plain loop itself",
              rounds.spread([](const std::vector<double>& round) { return round[0]; }), "µs/step"});
  report.add_rounds(graph.name, rounds);
}

void bench_graph(Report& report, const StepGraph& graph, std::optional<double> budget) {
  const EmptyCalls calls(graph);
  StepProgram program(graph, calls);
  FlowGraph tasks(graph, calls, FlowGraph::Nodes::kTasks);
  FlowGraph lightweight(graph, calls, FlowGraph::Nodes::kLightweight);
  LaneArenas arenas(graph, calls);
  CondvarPool pool(graph, calls);
  std::vector<Contender> contenders{
      {"plain loop",
       [&] {
         for (std::uint32_t i = 0; i < kSteps; ++i) calls.call(i);
       }},
      {"DynaFlow", [&] { program.run(); }},
      {"oneTBB flow graph", [&] { tasks.run(); }},
      {"oneTBB lightweight flow graph", [&] { lightweight.run(); }},
      {"oneTBB arena per lane", [&] { arenas.run(); }},
      {"condition variables", [&] { pool.run(); }},
  };
  const Rounds rounds = compete(contenders);
  report_costs(report, graph, contenders, rounds, budget);
}

}  // namespace
}  // namespace dynaflow::bench

int main() {
  using namespace dynaflow::bench;
  Report report("dispatch", "host cost per step of " + std::to_string(kSteps) +
                                " empty steps, less a plain loop over the same calls");
  bench_graph(report, make_chain(kSteps), 0.3);
  bench_graph(report, make_alternating_chain(kSteps), 1.0);
  bench_graph(report, make_meeting_chains(kSteps, kMeeting), std::nullopt);
  report.finish();
}
