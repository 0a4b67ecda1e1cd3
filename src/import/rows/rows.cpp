#include "import/rows/rows.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "dynaflow/base/check.h"
#include "import/capture/nearest.h"
#include "import/rows/families.h"
#include "import/rows/groups.h"
#include "import/rows/numbers.h"
#include "import/rows/table.h"
#include "import/rows/table_rows.h"

namespace dynaflow::rows {

using capture::Capture;
using capture::TensorId;
using Runs = CallRows::Runs;

namespace {

/// Walks the calls in order. Sorts of rows are taken to be local until a use is not understood;
/// then the walk starts again without that one.
class Walk {
 public:
  Walk(const Capture& capture, const Declarations& declarations)
      : capture_(capture), table_(declarations) {
    find_written();
  }

  void run() {
    while (!try_run()) {
    }
  }

  std::vector<State> states;      ///< per tensor
  std::vector<Outcome> outcomes;  ///< per call

 private:
  bool try_run() {
    states.assign(capture_.tensors.size(), whole());
    outcomes.clear();
    read_inputs();
    for (std::uint32_t i = 0; i < capture_.calls.size(); ++i) {
      Outcome outcome = judge(i);
      if (refuse(outcome.refused_sorts)) return false;
      keep(capture_.calls[i], outcome);
      outcomes.push_back(std::move(outcome));
    }
    std::vector<std::uint32_t> returned;
    for (const capture::Output& output : capture_.outputs) {
      if (!output.tensor.valid()) continue;
      const State& state = states[output.tensor.index];
      if (state.is_local()) returned.push_back(state.sort);
    }
    return !refuse(returned);
  }

  bool refuse(const std::vector<std::uint32_t>& sorts) {
    refused_.insert(sorts.begin(), sorts.end());
    return !sorts.empty();
  }

  void read_inputs() {
    const Spots none;
    for (const capture::Input& input : capture_.inputs) {
      if (!input.tensor.valid() || capture_.calls.empty()) continue;
      const Site site(capture_, 0, states, none);
      if (!site.has_batch(input.tensor)) continue;
      const auto place = site.natural_place(input.tensor);
      states[input.tensor.index] =
          place ? split(*place) : coupled(input.name + ", which holds the batch more than once");
    }
  }

  /// Tensors whose memory some call writes to: their numbers do not stay what they were.
  void find_written() {
    root_.resize(capture_.tensors.size());
    std::iota(root_.begin(), root_.end(), 0U);
    written_.resize(capture_.tensors.size());
    for (const capture::Call& call : capture_.calls) {
      for (const capture::Call::Alias& alias : call.aliases) {
        const TensorId output = call.outputs[alias.output];
        capture::for_each_tensor(call.arguments[alias.argument], [&](TensorId input) {
          if (output.valid()) root_[output.index] = root_[input.index];
        });
      }
      for (const std::uint32_t argument : call.writes) {
        capture::for_each_tensor(call.arguments[argument],
                                 [&](TensorId input) { written_[root_[input.index]] = true; });
      }
    }
  }

  void keep(const capture::Call& call, const Outcome& outcome) {
    for (std::size_t i = 0; i < call.outputs.size(); ++i) {
      if (call.outputs[i].valid()) states[call.outputs[i].index] = outcome.outputs[i];
    }
  }

  Outcome judge(std::uint32_t number) {
    static constexpr Spots kNone;
    const Entry* entry = table_.find(capture_.calls[number]);
    const Site site(capture_, number, states, entry == nullptr ? kNone : entry->spots);
    const Family family = entry == nullptr ? nullptr : entry->family;
    Outcome outcome = answer(site, family);
    if (touches_order(site) || !site.has_output()) return outcome;
    settle(site, outcome);
    follow_numbers(site, family, outcome);
    if (is_written(site)) forget_numbers(outcome);
    if (is_random(site, family)) draw(outcome);
    return outcome;
  }

  [[nodiscard]] bool is_written(const Site& site) const {
    return std::ranges::any_of(site.call().outputs, [&](TensorId output) {
      return output.valid() && written_[root_[output.index]];
    });
  }

  Outcome answer(const Site& site, Family family) const {
    const std::vector<TensorId> inputs = site.inputs();
    const auto any = [&](auto is) {
      return std::ranges::any_of(inputs, [&](TensorId t) { return is(states[t.index]); });
    };
    const auto at =
        std::ranges::find_if(inputs, [&](TensorId t) { return states[t.index].is_coupled(); });
    if (at != inputs.end()) return follow_coupled(site, states[at->index]);
    if (touches_order(site)) {
      const bool understood = !is_written(site) && !is_random(site, family) && site.has_output();
      return in_order(site, understood ? family : nullptr);
    }
    if (!any([](const State& state) { return state.is_split(); }))
      return without_rows(site, family);
    if (sorts_rows(site) && !refused_.contains(site.number()) && !is_written(site)) {
      return sort_rows(site);
    }
    if (family == nullptr) return unknown(site);
    return site.has_output() ? family(site) : check(site);
  }

  static Outcome follow_coupled(const Site& site, const State& cause) {
    Outcome outcome = merged(site, "it is made from " + cause.why);
    for (State& state : outcome.outputs) {
      if (state.is_coupled()) state.why = cause.why;
    }
    return outcome;
  }

  static Outcome unknown(const Site& site) {
    Outcome outcome = merged(site, "the table does not know " + site.call().op);
    outcome.runs = Runs::kUnknown;
    return outcome;
  }

  /// No argument has rows.
  static Outcome without_rows(const Site& site, Family family) {
    const auto& outputs = site.call().outputs;
    const bool rows = std::ranges::any_of(
        outputs, [&](TensorId output) { return output.valid() && site.has_batch(output); });
    if (rows && family != nullptr && makes_rows(family)) return family(site);
    Outcome outcome = row_wise(site, whole());
    outcome.runs = Runs::kOnce;
    outcome.reason = rows ? "it makes rows from tensors without any" : "nothing it reads has rows";
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].valid() || !site.has_batch(outputs[i])) continue;
      const auto place = site.natural_place(outputs[i]);
      outcome.outputs[i] =
          place ? split(*place)
                : coupled(site.name(outputs[i]) + ", whose size is no multiple of the batch's");
    }
    return outcome;
  }

  /// What every answer must hold to: sizes that fit, and no number that means the whole batch.
  static void settle(const Site& site, Outcome& outcome) {
    const auto& outputs = site.call().outputs;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const State& state = outcome.outputs[i];
      if (!outputs[i].valid() || state.is_coupled()) continue;
      const bool fits =
          state.is_split() ? site.fits(outputs[i], state.place()) : !site.has_batch(outputs[i]);
      if (!fits) {
        outcome = merged(site, "the batch is not where it should be in " + site.name(outputs[i]));
        return;
      }
    }
    const bool numbers = outcome.sizes == Outcome::Sizes::kFixed && site.reads_batch_size();
    if (outcome.runs != Runs::kRowWise || !numbers) return;
    const bool sums = std::ranges::any_of(outcome.outputs, [](const State& state) {
      return state.carry.kind == Carry::Kind::kPartial;
    });
    if (sums) outcome = merged(site, "");
    outcome.runs = Runs::kMerged;
    outcome.reason = "it computes with the batch's size";
    outcome.counted.clear();
  }

  static bool is_random(const Site& site, Family family) {
    if (family == drawn) return true;
    if (!site.call().has_tag("nondeterministic_seeded")) return false;
    const capture::Argument& dropout = site.argument(site.spots().dropout);
    const auto* chance = std::get_if<double>(&dropout.value);
    return dropout.integer() != 0 && (chance == nullptr || *chance != 0.0);
  }

  static void forget_numbers(Outcome& outcome) {
    for (State& state : outcome.outputs) state.role = State::Role::kData;
  }

  static void draw(Outcome& outcome) {
    outcome.runs = Runs::kDrawn;
    outcome.reason = "it draws random numbers";
    for (State& state : outcome.outputs) {
      if (state.carry.kind == Carry::Kind::kPartial) state = whole();
    }
    forget_numbers(outcome);
  }

  const Capture& capture_;
  Table table_;
  std::set<std::uint32_t> refused_;
  std::vector<std::uint32_t> root_;
  std::vector<bool> written_;
};

Carry carry_of(const State& state, bool own_numbers) {
  if (own_numbers || state.is_local()) return {.kind = Carry::Kind::kLocal};
  return state.carry;
}

std::vector<std::string> find_uncalled(const Capture& capture, const Declarations& declarations) {
  std::set<std::string> called;
  for (const capture::Call& call : capture.calls) called.insert(call.op);
  std::vector<std::string> warnings;
  for (const std::string& op : declarations.row_wise) {
    if (called.contains(op)) continue;
    warnings.push_back("row_wise '" + op + "' is not called" + capture::nearest(op, called));
  }
  return warnings;
}

}  // namespace

Rows find_rows(Capture capture, const Declarations& declarations) {
  Walk walk(capture, declarations);
  walk.run();
  Recounted recounted =
      recount(std::move(capture), std::move(walk.states), std::move(walk.outcomes));
  Rows rows{.capture = std::move(recounted.capture)};
  for (std::size_t i = 0; i < recounted.states.size(); ++i) {
    rows.tensors.push_back(carry_of(recounted.states[i], recounted.local[i]));
  }
  for (Outcome& outcome : recounted.outcomes) {
    rows.calls.push_back({.runs = outcome.runs, .reason = std::move(outcome.reason)});
  }
  group_calls(rows);
  rows.warnings = find_uncalled(rows.capture, declarations);
  return rows;
}

}  // namespace dynaflow::rows
