#include "import/rows/numbers.h"

#include <algorithm>
#include <array>

#include "import/rows/quotient.h"

namespace dynaflow::rows {

using capture::Argument;
using capture::TensorId;

namespace {

bool is_integral(DType dtype) { return dtype == DType::kI64 || dtype == DType::kI32; }

bool op_is(const Site& site, std::string_view name) { return site.call().op == name; }

bool rearranges(Family family) {
  constexpr std::array kFamilies = {view, permute, transpose, expand, repeat, slice, select};
  return std::ranges::find(kFamilies, family) != kFamilies.end();
}

/// A constant that is multiplied with or added to the only tensor.
std::optional<std::int64_t> operand(const Site& site) { return site.argument(1).integer(); }

std::optional<Extent> multiplied_step(const Site& site, const Extent& step) {
  const auto by = op_is(site, "aten::mul") ? operand(site) : std::nullopt;
  return by && *by > 0 ? std::optional(step * Extent(*by)) : std::nullopt;
}

bool adds_nothing(const Site& site) {
  return (op_is(site, "aten::add") || op_is(site, "aten::sub")) && operand(site) == 0;
}

}  // namespace

bool copies(const Site& site) {
  constexpr std::array<std::string_view, 6> kCopies = {"aten::_to_copy", "aten::clone",
                                                       "aten::alias",    "aten::detach",
                                                       "aten::to",       "aten::contiguous"};
  if (std::ranges::find(kCopies, site.call().op) == kCopies.end()) return false;
  const DType dtype = site.dtype(site.output());
  return site.sizes(site.inputs().front()) == site.sizes(site.output()) &&
         (is_integral(dtype) || dtype == DType::kF32 || dtype == DType::kF64);
}

std::optional<Extent> divided_step(const Site& site) {
  const bool rounded = std::get_if<std::string>(&site.argument(2).value) != nullptr &&
                       std::get<std::string>(site.argument(2).value) == "floor";
  const bool divides = op_is(site, "aten::floor_divide") || (op_is(site, "aten::div") && rounded);
  const auto by = operand(site);
  if (!divides || !by || *by <= 0) return {};
  return quotient(site.state(site.inputs().front()).step, Extent(*by));
}

void follow_numbers(const Site& site, Family family, Outcome& outcome) {
  const std::vector<TensorId> inputs = site.inputs();
  if (inputs.size() != 1 || outcome.outputs.size() != 1) return;
  const State& numbers = site.state(inputs.front());
  const bool rows = outcome.runs == CallRows::Runs::kRowWise && outcome.outputs[0].is_split();
  if (numbers.role != State::Role::kRowNumbers || !rows) return;
  if (!is_integral(site.dtype(site.output()))) return;

  std::optional<Extent> step;
  if (rearranges(family) || copies(site) || adds_nothing(site)) {
    step = numbers.step;
  } else if (const auto divided = divided_step(site)) {
    step = divided;
  } else {
    step = multiplied_step(site, numbers.step);
  }
  if (!step) return;
  State& result = outcome.outputs[0];
  result.role = State::Role::kRowNumbers;
  result.step = *step;
  const bool same = *step == numbers.step && site.sizes(inputs[0]) == site.sizes(site.output());
  if (same && result.place() == numbers.place()) result.numbers = numbers.numbers;
  outcome.runs = CallRows::Runs::kOnce;
  outcome.reason = "it numbers the rows of the whole batch";
}

namespace {

/// Rewrites the calls: which chains of row numbers stay, move or are copied.
class Recount {
 public:
  Recount(capture::Capture capture, std::vector<State> states, std::vector<Outcome> outcomes)
      : old_(std::move(capture)), old_outcomes_(std::move(outcomes)) {
    new_ = {.capture = old_, .states = std::move(states), .local = {}};
    new_.capture.calls.clear();
    new_.local.resize(old_.tensors.size());
  }

  Recounted run() {
    find_producers();
    find_absolute_uses();
    for (std::uint32_t i = 0; i < old_.calls.size(); ++i) {
      if (waits_for_its_user(i)) continue;
      capture::Call call = old_.calls[i];
      Copies copied;
      for (const TensorId numbers : old_outcomes_[i].counted) {
        const TensorId own = chain(numbers, copied);
        for (Argument& argument : call.arguments) replace(argument, numbers, own);
      }
      add(std::move(call), old_outcomes_[i]);
    }
    return std::move(new_);
  }

 private:
  using Copies = std::vector<std::pair<TensorId, TensorId>>;

  [[nodiscard]] bool is_numbers(TensorId tensor) const {
    return new_.states[tensor.index].role == State::Role::kRowNumbers;
  }
  [[nodiscard]] bool makes_numbers(std::uint32_t call) const {
    const auto& outputs = old_.calls[call].outputs;
    return outputs.size() == 1 && outputs[0].valid() && is_numbers(outputs[0]);
  }

  void find_producers() {
    producer_.resize(old_.tensors.size(), UINT32_MAX);
    for (std::uint32_t i = 0; i < old_.calls.size(); ++i) {
      for (const TensorId output : old_.calls[i].outputs) {
        if (output.valid()) producer_[output.index] = i;
      }
    }
  }

  /// Backwards: a number is the batch's where anything but counting, or a batch's number, reads it.
  void find_absolute_uses() {
    absolute_.resize(old_.tensors.size());
    counted_.resize(old_.tensors.size());
    for (const capture::Output& output : old_.outputs) {
      if (output.tensor.valid()) absolute_[output.tensor.index] = true;
    }
    for (std::uint32_t i = static_cast<std::uint32_t>(old_.calls.size()); i-- > 0;) {
      const auto& counted = old_outcomes_[i].counted;
      capture::for_each_input(old_.calls[i], [&](TensorId input) {
        if (makes_numbers(i)) {
          const TensorId output = old_.calls[i].outputs[0];
          absolute_[input.index] = absolute_[input.index] || absolute_[output.index];
          counted_[input.index] = counted_[input.index] || counted_[output.index];
        } else if (std::ranges::find(counted, input) == counted.end()) {
          absolute_[input.index] = true;
        } else {
          counted_[input.index] = true;
        }
      });
    }
  }

  /// Numbers that are only counted move to the call that counts.
  [[nodiscard]] bool waits_for_its_user(std::uint32_t call) const {
    if (!makes_numbers(call)) return false;
    const TensorId numbers = old_.calls[call].outputs[0];
    return counted_[numbers.index] && !absolute_[numbers.index];
  }

  /// Adds the calls that make `numbers` for a micro-batch's own rows.
  TensorId chain(TensorId numbers, Copies& copied) {
    if (!is_numbers(numbers)) return numbers;
    const auto known = std::ranges::find(copied, numbers, &Copies::value_type::first);
    if (known != copied.end()) return known->second;

    const std::uint32_t maker = producer_[numbers.index];
    capture::Call call = old_.calls[maker];
    capture::for_each_input(old_.calls[maker], [&](TensorId input) {
      const TensorId own = chain(input, copied);
      for (Argument& argument : call.arguments) replace(argument, input, own);
    });
    const TensorId own = take_or_copy(numbers);
    call.outputs = {own};
    new_.local[own.index] = true;
    add(std::move(call), {.outputs = {new_.states[own.index]}});
    copied.emplace_back(numbers, own);
    return own;
  }

  TensorId take_or_copy(TensorId numbers) {
    if (!absolute_[numbers.index] && !new_.local[numbers.index]) return numbers;
    const auto own = id_at<TensorId>(new_.capture.tensors.size());
    capture::Tensor tensor = old_.tensors[numbers.index];
    tensor.name += ".own" + std::to_string(own.index);
    new_.capture.tensors.push_back(std::move(tensor));
    new_.states.push_back(new_.states[numbers.index]);
    new_.local.push_back(false);
    return own;
  }

  static void replace(Argument& argument, TensorId from, TensorId to) {
    if (argument.tensor() == from) argument.value = to;
    if (auto* list = std::get_if<Argument::List>(&argument.value)) {
      for (Argument& item : *list) replace(item, from, to);
    }
  }

  void add(capture::Call call, Outcome outcome) {
    new_.capture.calls.push_back(std::move(call));
    new_.outcomes.push_back(std::move(outcome));
  }

  capture::Capture old_;
  std::vector<Outcome> old_outcomes_;
  Recounted new_;
  std::vector<std::uint32_t> producer_;
  std::vector<bool> absolute_;
  std::vector<bool> counted_;
};

}  // namespace

Recounted recount(capture::Capture capture, std::vector<State> states,
                  std::vector<Outcome> outcomes) {
  return Recount(std::move(capture), std::move(states), std::move(outcomes)).run();
}

}  // namespace dynaflow::rows
