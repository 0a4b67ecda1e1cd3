#include "import/rows/families.h"
#include "import/rows/quotient.h"

namespace dynaflow::rows {

using capture::Argument;
using capture::TensorId;

namespace {

Outcome once(const Site& site, const Place& place, std::string reason) {
  Outcome outcome = row_wise(site, place);
  outcome.runs = CallRows::Runs::kOnce;
  outcome.reason = std::move(reason);
  return outcome;
}

}  // namespace

Outcome constant(const Site& site) {
  const auto place = site.natural_place(site.output());
  if (!place) return merged(site, "its result holds the batch more than once");
  if (site.reads_batch_size(site.argument(site.spots().fill))) {
    return once(site, *place, "it fills with a number that changes with the batch's size");
  }
  Outcome outcome = row_wise(site, *place);
  outcome.sizes = Outcome::Sizes::kFollowRows;
  return outcome;
}

Outcome constant_like(const Site& site) {
  const State& state = site.state(site.inputs().front());
  const bool same = state.is_split() && !state.is_local();
  if (!same) return constant(site);
  if (site.reads_batch_size(site.argument(site.spots().fill))) return constant(site);
  return row_wise(site, state.place());
}

Outcome arange(const Site& site) {
  const auto place = site.natural_place(site.output());
  if (!place) return merged(site, "its length is no multiple of the batch");
  const bool ends_only = site.call().overload.empty();
  const Argument& start = site.argument(ends_only ? -1 : 0);
  const Argument& step = site.argument(site.call().overload == "start_step" ? 2 : -1);
  const bool from_zero = start.is_none() || start.integer() == 0;
  const std::int64_t width = step.is_none() ? 1 : step.integer().value_or(0);
  Outcome outcome = once(site, *place, "it numbers the rows of the whole batch");
  const DType dtype = site.dtype(site.output());
  const bool whole_numbers = dtype == DType::kI64 || dtype == DType::kI32;
  if (!from_zero || width <= 0 || !whole_numbers) return outcome;

  State& numbers = outcome.outputs.front();
  numbers.role = State::Role::kRowNumbers;
  const auto inner = quotient(site.size(site.output(), 0), site.batch());
  numbers.step = Extent(width) * inner.value_or(0);
  numbers.numbers = width == 1 ? State::Numbers::kPositions : State::Numbers::kAny;
  return outcome;
}

Outcome drawn(const Site& site) {
  const std::vector<TensorId> inputs = site.inputs();
  const bool like = !inputs.empty() && site.state(inputs.front()).is_split() &&
                    site.sizes(inputs.front()) == site.sizes(site.output());
  if (like) return row_wise(site, site.state(inputs.front()).place());
  const auto place = site.natural_place(site.output());
  return place ? row_wise(site, *place) : merged(site, "its result holds the batch more than once");
}

}  // namespace dynaflow::rows
