// From a graph and a strategy to a placement that may run, and from there to other sizes.
#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "dynaflow/base/check.h"
#include "dynaflow/dynaflow.h"
#include "support/decoder.h"
#include "support/report.h"
#include "support/rounds.h"
#include "support/stages.h"
#include "support/stopwatch.h"

namespace dynaflow::bench {
namespace {

constexpr int kMicrobatches = 8;
constexpr std::int64_t kRows = 512;
constexpr std::size_t kMiddle = 1;  // of kOps: the size that has a budget of its own
const std::vector<int> kOps{100, 1'000, 10'000};

/// One size of the decoder, with a Program to rebind.
class Subject {
 public:
  explicit Subject(int ops)
      : graph_(std::make_shared<Graph>(make_inference_decoder(DecoderShape::with_ops(ops)))) {
    auto plan = make_placed_plan(graph_, scheduler_, even_);
    program_ = std::make_unique<Program>(Program::make(plan.value(), cpu_, even_).value());
  }

  [[nodiscard]] StageTimes time_stages() const {
    return bench::time_stages(*graph_, scheduler_, even_);
  }

  /// Seconds per rebinding, of one to sizes of all kinds and one back.
  [[nodiscard]] double time_rebind() {
    const double both = seconds_of([&] {
      DYNAFLOW_CHECK(program_->rebind(uneven_).has_value());
      DYNAFLOW_CHECK(program_->rebind(other_).has_value());
    });
    return both / 2;
  }

  [[nodiscard]] std::size_t buffers() const { return all_buffers().items.size(); }
  [[nodiscard]] std::size_t arena_buffers() const { return all_buffers().arena.size(); }

 private:
  [[nodiscard]] const Buffers& all_buffers() const { return program_->placed_plan().buffers(); }

  const Leapfrog scheduler_{kMicrobatches};
  const Split even_ = scheduler_.split({.rows = kRows});
  const Split uneven_{{100, 7, 64, 33, 120, 1, 90, 97}};
  const Split other_{{13, 81, 64, 100, 2, 119, 5, 128}};
  std::shared_ptr<const Graph> graph_;
  CpuDevice cpu_;
  std::unique_ptr<Program> program_;
};

/// Where a round's values are: the yardstick, then for each size its stages and its rebinding.
constexpr std::size_t kPerSize = kStages.size() + 1;
std::size_t first_of(std::size_t size) { return 1 + size * kPerSize; }

double sum_of(const std::vector<double>& round, std::size_t size) {
  const auto first = round.begin() + static_cast<std::ptrdiff_t>(first_of(size));
  return std::accumulate(first, first + kStages.size(), 0.0);
}

Rounds measure(std::vector<std::unique_ptr<Subject>>& subjects) {
  return measure_rounds([&] {
    std::vector<double> round{measure_yardstick()};
    for (const auto& subject : subjects) {
      std::ranges::copy(subject->time_stages(), std::back_inserter(round));
      round.push_back(subject->time_rebind());
    }
    return round;
  });
}

std::string label(std::size_t size) { return std::to_string(kOps[size]) + " ops: "; }

void report_stages(Report& report, const Rounds& rounds, std::size_t size) {
  for (std::size_t stage = 0; stage < kStages.size(); ++stage) {
    const auto value = [&](const auto& round) { return round[first_of(size) + stage] * 1e3; };
    report.add({label(size) + std::string(kStages[stage]), rounds.spread(value), "ms"});
  }
  report.add({label(size) + "sum",
              rounds.spread([&](const auto& round) { return sum_of(round, size) * 1e3; }), "ms",
              size == kMiddle ? std::optional(150.0) : std::nullopt});
}

void report_growth(Report& report, const Rounds& rounds) {
  const auto growth = [](const auto& round) {
    return sum_of(round, kMiddle + 1) / sum_of(round, kMiddle);
  };
  report.add({"10000 ops: sum over that of 1000 ops", rounds.spread(growth), "x", 12.0});
}

void report_rebind(Report& report, const Rounds& rounds, std::size_t size, const Subject& subject) {
  const auto buffers = static_cast<double>(subject.buffers());
  const auto per_thousand = [&](const auto& round) {
    return round[first_of(size) + kStages.size()] * 1e3 / (buffers / 1e3);
  };
  report.add({label(size) + "rebind, per 1000 buffers", rounds.spread(per_thousand), "ms", 1.0});
  report.add({label(size) + "buffers", exactly(buffers), ""});
  report.add({label(size) + "buffers in the arena",
              exactly(static_cast<double>(subject.arena_buffers())), ""});
}

}  // namespace
}  // namespace dynaflow::bench

int main() {
  using namespace dynaflow::bench;
  std::vector<std::unique_ptr<Subject>> subjects;
  for (const int ops : kOps) subjects.push_back(std::make_unique<Subject>(ops));
  const Rounds rounds = measure(subjects);
  Report report("plan", "a decoder x 8 micro-batches under Leapfrog, from graph to placement");
  for (std::size_t size = 0; size < kOps.size(); ++size) report_stages(report, rounds, size);
  report_growth(report, rounds);
  for (std::size_t i = 0; i < kOps.size(); ++i) report_rebind(report, rounds, i, *subjects[i]);
  report.add_rounds("all", rounds);
  report.finish();
}
