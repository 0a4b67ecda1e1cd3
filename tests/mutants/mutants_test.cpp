// Valid plans, spoiled in one place: the verifiers must refuse exactly the spoiled plans that some
// order of steps would get wrong, as an oracle that tries all orders finds out.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>

#include "dynaflow/dynaflow.h"
#include "dynaflow/plan/verify.h"
#include "mutants/oracle.h"
#include "support/random_graph.h"
#include "support/random_strategy.h"
#include "support/sanitized.h"

namespace dynaflow::testing {
namespace {

constexpr std::size_t kMostSteps = 12;
constexpr std::uint64_t kMutants = kSanitized ? 5000 : 20000;

enum class Spoil : std::uint8_t {
  kNothing,
  kWaitDropped,
  kStepsSwapped,
  kViewShifted,
  kBufferShifted,
  kBlocksMoved,
};

const char* name_of(Spoil spoil) {
  constexpr const char* kNames[] = {"nothing",      "wait dropped",   "steps swapped",
                                    "view shifted", "buffer shifted", "blocks moved"};
  return kNames[static_cast<std::size_t>(spoil)];
}

struct Mutant {
  Plan plan;
  Placement placement;
  std::string what;
};

void drop_wait(Plan& plan, Random& random) {
  const auto at =
      static_cast<std::uint32_t>(pick(random, 0, std::int64_t(plan.step_waits.size()) - 1));
  for (Step& step : plan.steps) {
    if (step.waits.first <= at && at < step.waits.first + step.waits.count) {
      std::swap(plan.step_waits[at], plan.step_waits[step.waits.first + step.waits.count - 1]);
      --step.waits.count;
      return;
    }
  }
}

bool swap_steps(Plan& plan, Random& random) {
  auto& lane = plan.lane_steps[static_cast<std::size_t>(
      pick(random, 0, std::int64_t(plan.lanes.size()) - 1))];
  if (lane.size() < 2) return false;
  const auto at = static_cast<std::size_t>(pick(random, 0, std::int64_t(lane.size()) - 2));
  std::swap(lane[at], lane[at + 1]);
  std::swap(plan.steps[lane[at].index].position, plan.steps[lane[at + 1].index].position);
  return true;
}

std::int64_t some_shift(Random& random) {
  const std::int64_t words = pick(random, 1, 10);
  return (chance(random, 0.5) ? words : -words) * 8;
}

/// Spoils one thing, or nothing where there is nothing of the kind to spoil.
bool spoil(Spoil how, const Graph& graph, const Buffers& buffers, Mutant& mutant, Random& random) {
  switch (how) {
    case Spoil::kNothing:
      return true;
    case Spoil::kWaitDropped:
      if (mutant.plan.step_waits.empty()) return false;
      drop_wait(mutant.plan, random);
      return true;
    case Spoil::kStepsSwapped:
      return swap_steps(mutant.plan, random);
    case Spoil::kViewShifted: {
      const auto at = static_cast<std::size_t>(
          pick(random, 0, std::int64_t(mutant.placement.views.size()) - 1));
      const StorageId storage = graph.value(mutant.plan.step_operands[at].value).storage;
      if (graph.storage(storage).memory == Memory::kUnplaced) return false;
      const std::int64_t shift = some_shift(random);
      mutant.placement.views[at].offset += shift;
      mutant.what = " of operand " + std::to_string(at) + " '" +
                    graph.value(mutant.plan.step_operands[at].value).name + "' by " +
                    std::to_string(shift);
      return true;
    }
    case Spoil::kBlocksMoved: {
      std::vector<std::size_t> inside;
      for (std::size_t i = 0; i < mutant.plan.step_operands.size(); ++i) {
        const StorageId storage = graph.value(mutant.plan.step_operands[i].value).storage;
        if (mutant.placement.storages[storage.index].blocks > 1) inside.push_back(i);
      }
      if (inside.empty()) return false;
      const auto at = inside[static_cast<std::size_t>(
          pick(random, 0, static_cast<std::int64_t>(inside.size()) - 1))];
      mutant.placement.views[at].block_stride += some_shift(random);
      return true;
    }
    case Spoil::kBufferShifted: {
      if (buffers.arena.empty()) return false;
      const auto at =
          static_cast<std::size_t>(pick(random, 0, std::int64_t(buffers.arena.size()) - 1));
      mutant.placement.offsets[buffers.arena[at].index] += some_shift(random);
      return true;
    }
  }
  return false;
}

/// What the product's own verifiers say, in the order it asks them.
std::vector<Diagnostic> verifiers_say(const Graph& graph, const Buffers& buffers,
                                      const Mutant& mutant) {
  if (auto findings = verify_steps(graph, mutant.plan); !findings.empty()) return findings;
  const auto hb = HappensBefore::of(mutant.plan, graph);
  if (!hb) return hb.error().findings;
  auto findings = verify(graph, mutant.plan, *hb);
  const PlacementVerifier verifier(graph, mutant.plan, buffers, *hb);
  for (Diagnostic& finding : verifier.verify(mutant.placement))
    findings.push_back(std::move(finding));
  return findings;
}

TEST(Mutants, AreRefusedExactlyWhenSomeOrderGoesWrong) {
  std::map<std::pair<Spoil, Verdict>, std::uint64_t> tally;
  std::uint64_t mutants = 0;
  std::uint64_t orders = 0;
  const RandomStrategyOptions options{
      .max_lanes = 3, .max_microbatches = 3, .extra_order = 0.2, .allow_empty = false};
  for (std::uint64_t seed = 1; mutants < kMutants && !::testing::Test::HasFailure(); ++seed) {
    Random random(seed);
    RandomGraph made = random_graph(random, static_cast<int>(pick(random, 2, 7)));
    // A plan is for all sizes: what it gets wrong only shows in values that have bytes.
    for (std::int64_t& symbol : made.symbols) symbol = std::max<std::int64_t>(symbol, 1);
    const Batch batch{.rows = pick(random, 1, 5)};
    const RandomStrategy strategy(made.graph, seed, options);
    const Split split = strategy.split(batch);
    const auto placed =
        make_placed_plan(std::make_shared<const Graph>(made.graph), strategy, split);
    ASSERT_TRUE(placed.has_value()) << to_string(placed.error());
    const PlacedPlan& valid = **placed;
    if (valid.plan().steps.size() > kMostSteps || valid.plan().step_operands.empty()) continue;
    Placement placement;
    ASSERT_TRUE(valid.place(split, made.symbols, placement).has_value());
    const Outcome expected = reference_run(made, batch.rows, seed);
    for (int variant = 0; variant < 11; ++variant) {
      const auto how = variant == 0 ? Spoil::kNothing : static_cast<Spoil>(1 + variant % 5);
      Mutant mutant{valid.plan(), placement, ""};
      if (!spoil(how, made.graph, valid.buffers(), mutant, random)) continue;
      const auto findings = verifiers_say(made.graph, valid.buffers(), mutant);
      const Judgement judged =
          judge({made, mutant.plan, valid.buffers(), mutant.placement}, batch.rows, seed, expected);
      ++mutants;
      orders += judged.orders;
      ++tally[{how, judged.verdict}];
      ASSERT_EQ(findings.empty(), judged.verdict == Verdict::kHarmless)
          << "seed " << seed << " variant " << variant << ", " << name_of(how) << mutant.what
          << ": the oracle says " << to_string(judged.verdict) << ", the verifiers say "
          << (findings.empty() ? "nothing" : to_string(findings.front())) << "\n"
          << to_string(made.graph) << to_string(mutant.plan, made.graph)
          << to_string(mutant.placement, valid.buffers(), made.graph);
    }
  }
  for (const auto& [key, count] : tally) {
    std::printf("%-14s %-13s %6llu\n", name_of(key.first), to_string(key.second).c_str(),
                static_cast<unsigned long long>(count));
  }
  std::printf("%llu mutants judged, %llu orders executed: verifiers and oracle agree on all\n",
              static_cast<unsigned long long>(mutants), static_cast<unsigned long long>(orders));
}

}  // namespace
}  // namespace dynaflow::testing
