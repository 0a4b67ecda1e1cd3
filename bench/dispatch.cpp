// What it costs to run one step of a plan: empty kernels, so that all that is left is the runtime.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "support/contenders.h"
#include "support/hand_offs.h"
#include "support/report.h"
#include "support/rounds.h"
#include "support/step_graph.h"
#include "support/stopwatch.h"

namespace dynaflow::bench {
namespace {

constexpr std::uint32_t kSteps = 1'000;
constexpr std::uint32_t kMeeting = 10;
constexpr std::size_t kOurs = 1;  // among Contenders::list

/// How a contender is measured. A sample is `batch` runs, long enough for the clock; a measurement
/// is the median of `samples`, so that a time slice lost to another process does not count.
struct Effort {
  int batch = 1;
  int samples = 1;
};

Effort calibrate(const Contender& contender) {
  constexpr double kSample = 50e-6;
  constexpr double kMeasurement = 5e-3;
  contender.run();
  const double once = seconds_of(contender.run);
  const int batch = std::max(1, static_cast<int>(kSample / once));
  return {batch, std::clamp(static_cast<int>(kMeasurement / (once * batch)), 5, 51)};
}

/// Microseconds per step.
double measure(const Contender& contender, const Effort& effort) {
  std::vector<double> samples;
  for (int i = 0; i < effort.samples; ++i) {
    samples.push_back(seconds_of([&] {
      for (int k = 0; k < effort.batch; ++k) contender.run();
    }));
  }
  return spread_of(std::move(samples)).median / effort.batch / kSteps * 1e6;
}

Rounds compete(const std::vector<Contender>& contenders) {
  std::vector<Effort> efforts;
  std::ranges::transform(contenders, std::back_inserter(efforts), calibrate);
  return measure_rounds([&] {
    std::vector<double> values;
    for (std::size_t arm = 0; arm < contenders.size(); ++arm) {
      values.push_back(measure(contenders[arm], efforts[arm]));
    }
    return values;
  });
}

/// Where every step is a hand-off, who need not hand over leaves out what is measured.
bool is_rival(const StepGraph& graph, const Contender& contender) {
  return contender.role == Contender::Role::kRival ||
         (contender.role == Contender::Role::kNoLanes && !graph.hands_over_always());
}

/// The plain loop's calls are in every arm.
double cost(const std::vector<double>& round, std::size_t arm) {
  return round[arm] - round[Rounds::kBaseline];
}

void report_costs(Report& report, const StepGraph& graph, const std::vector<Contender>& contenders,
                  const Rounds& rounds, std::optional<double> budget) {
  for (std::size_t arm = kOurs; arm < contenders.size(); ++arm) {
    report.add({graph.name + ": " + contenders[arm].name,
                rounds.spread([&](const auto& round) { return cost(round, arm); }), "µs/step",
                arm == kOurs ? budget : std::nullopt});
  }
  for (std::size_t arm = kOurs + 1; arm < contenders.size(); ++arm) {
    const auto ratio = [&](const auto& round) { return cost(round, kOurs) / cost(round, arm); };
    report.add({graph.name + ": DynaFlow over " + contenders[arm].name, rounds.spread(ratio), "x",
                is_rival(graph, contenders[arm]) ? std::optional(1.0) : std::nullopt});
  }
}

void report_hand_offs(Report& report, const StepGraph& graph) {
  HandOffs hand_offs(graph);
  const StepCalls calls = hand_offs.make_calls();
  Contenders contenders(graph, calls);
  const double wanted = graph.hand_offs();
  for (const Contender& contender : contenders.list()) {
    if (contender.role == Contender::Role::kBaseline) continue;
    report.add({graph.name + ": handed over by " + contender.name,
                exactly(hand_offs.count(contender.run) / wanted * 100), "%"});
  }
}

void bench_graph(Report& report, const StepGraph& graph, std::optional<double> budget) {
  {
    const StepCalls calls = make_empty_calls(graph);
    Contenders contenders(graph, calls);
    const std::vector<Contender> list = contenders.list();
    const Rounds rounds = compete(list);
    report_costs(report, graph, list, rounds, budget);
    report.add_rounds(graph.name, rounds);
  }
  if (graph.hand_offs() > 0) report_hand_offs(report, graph);
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
