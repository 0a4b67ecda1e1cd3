#include <string_view>

#include "import/rows/families.h"

namespace dynaflow::rows {

using capture::TensorId;

namespace {

struct Equation {
  std::vector<std::string> operands;
  std::string result = {};
};

/// "mk,kn->mn".
Equation parse(std::string_view text) {
  Equation equation{.operands = {""}};
  const std::size_t arrow = text.find("->");
  for (const char letter : text.substr(0, arrow)) {
    if (letter == ',') {
      equation.operands.emplace_back();
    } else if (letter != ' ') {
      equation.operands.back() += letter;
    }
  }
  for (const char letter : text.substr(arrow + 2)) {
    if (letter != ' ') equation.result += letter;
  }
  return equation;
}

/// The index letter that runs over the batch, the same in every operand that has it.
struct Shared {
  char letter = 0;
  Extent outer = 1;
  std::string clash;
};

Shared find_letter(const Site& site, const Equation& equation,
                   const std::vector<TensorId>& operands) {
  Shared shared;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const State& state = site.state(operands[i]);
    if (!state.is_split()) continue;
    const char letter = equation.operands[i][static_cast<std::size_t>(state.carry.dim)];
    if (shared.letter != 0 && (letter != shared.letter || state.carry.outer != shared.outer)) {
      return {.clash = "its arguments hold the batch at different places"};
    }
    shared.letter = letter;
    shared.outer = state.carry.outer;
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const bool has = equation.operands[i].find(shared.letter) != std::string::npos;
    if (has && !site.state(operands[i]).is_split()) {
      return {.clash = site.name(operands[i]) + " meets the batch with a size of its own"};
    }
  }
  return shared;
}

Outcome contract_by(const Site& site, const Equation& equation,
                    const std::vector<TensorId>& operands) {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const auto rank = static_cast<std::size_t>(site.rank(operands[i]));
    if (i >= equation.operands.size() || equation.operands[i].size() != rank) {
      return merged(site, "its equation is not followed");
    }
  }
  const Shared shared = find_letter(site, equation, operands);
  if (!shared.clash.empty()) return merged(site, shared.clash);
  if (shared.letter == 0) return merged(site, "only what it adds to carries the batch");
  const std::size_t at = equation.result.find(shared.letter);
  if (at == std::string::npos) return summed(site);
  return row_wise(site, Place{static_cast<std::int32_t>(at), shared.outer});
}

}  // namespace

Outcome contract(const Site& site) {
  const int first = site.spots().operand;
  std::vector<TensorId> operands;
  for (int i = first; i < first + 2; ++i) {
    if (const auto tensor = site.tensor_at(i)) operands.push_back(*tensor);
  }
  Outcome outcome = contract_by(site, parse(site.spots().equation), operands);
  const auto added = first > 0 ? site.tensor_at(0) : std::nullopt;
  if (!added || outcome.runs != CallRows::Runs::kRowWise) return outcome;

  const State& result = outcome.outputs.front();
  if (!result.is_split()) return merged(site, "it adds to a sum over the batch");
  const Extent size = site.size(site.output(), result.carry.dim);
  const std::int32_t d = result.carry.dim + site.rank(*added) - site.rank(site.output());
  const bool broadcast = d < 0 || site.size(*added, d) == Extent(1);
  const Place place{d, result.carry.outer};
  const State& state = site.state(*added);
  const bool fits =
      state.is_split() ? state.place() == place && site.size(*added, d) == size : broadcast;
  return fits ? outcome : merged(site, "what it adds holds the batch at another place");
}

Outcome linear(const Site& site) {
  const TensorId input = *site.tensor_at(0);
  const State& state = site.state(input);
  const std::vector<TensorId> inputs = site.inputs();
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    if (!site.state(inputs[i]).is_whole()) return merged(site, "its weights carry the batch");
  }
  if (state.carry.dim == site.rank(input) - 1) return merged(site, "it contracts over the batch");
  return row_wise(site, state.place());
}

Outcome einsum(const Site& site) {
  const auto* text = std::get_if<std::string>(&site.argument(0).value);
  if (text == nullptr || text->find('.') != std::string::npos ||
      text->find("->") == std::string::npos) {
    return merged(site, "its equation is not followed");
  }
  return contract_by(site, parse(*text), site.inputs());
}

Outcome convolution(const Site& site) {
  const TensorId input = *site.tensor_at(0);
  const State& state = site.state(input);
  for (int i = 1; i <= 2; ++i) {
    const auto weights = site.tensor_at(i);
    if (weights && !site.state(*weights).is_whole()) {
      return merged(site, "its weights carry the batch");
    }
  }
  const bool batched = site.rank(input) == site.rank(*site.tensor_at(1));
  if (!state.is_split() || state.carry.dim != 0 || !batched) {
    return merged(site, "it convolves over the batch");
  }
  return row_wise(site, state.place());
}

}  // namespace dynaflow::rows
