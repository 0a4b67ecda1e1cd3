#include <algorithm>

#include "import/rows/families.h"

namespace dynaflow::rows {

using capture::Argument;
using capture::TensorId;

namespace {

bool contains(const std::vector<std::int32_t>& dims, std::int32_t dim) {
  return std::ranges::find(dims, dim) != dims.end();
}

bool others_are_whole(const Site& site) {
  const std::vector<TensorId> inputs = site.inputs();
  return std::all_of(inputs.begin() + 1, inputs.end(),
                     [&](TensorId input) { return site.state(input).is_whole(); });
}

/// The batch's place when the other dimensions are reduced.
Outcome reduce_others(const Site& site, Place place, const std::vector<std::int32_t>& dims) {
  if (!site.argument(site.spots().keep).boolean().value_or(false)) {
    const auto gone = std::ranges::count_if(dims, [&](std::int32_t d) { return d < place.dim; });
    place.dim -= static_cast<std::int32_t>(gone);
  }
  return row_wise(site, place);
}

}  // namespace

Outcome sum(const Site& site) {
  const TensorId input = site.inputs().front();
  const Place place = site.state(input).place();
  const auto dims = site.dims(site.spots().dim, site.rank(input));
  return contains(dims, place.dim) ? summed(site) : reduce_others(site, place, dims);
}

Outcome reduce(const Site& site) {
  const TensorId input = site.inputs().front();
  const Place place = site.state(input).place();
  const auto dims = site.dims(site.spots().dim, site.rank(input));
  if (contains(dims, place.dim)) return merged(site, "it reduces over the batch");
  return reduce_others(site, place, dims);
}

Outcome along(const Site& site) {
  const TensorId input = site.inputs().front();
  const Place place = site.state(input).place();
  for (const TensorId other : site.inputs()) {
    if (site.state(other).place() != place || site.rank(other) != site.rank(input)) {
      return merged(site, "its arguments hold the batch at different places");
    }
  }
  if (contains(site.dims(site.spots().dim, site.rank(input)), place.dim)) {
    return merged(site, "it works along the batch");
  }
  return row_wise(site, place);
}

Outcome leading(const Site& site) {
  const TensorId input = site.inputs().front();
  const State& state = site.state(input);
  if (!state.is_split() || !others_are_whole(site)) {
    return merged(site, "an argument other than the first carries the batch");
  }
  const Argument& shape = site.argument(site.spots().shape);
  const auto named = static_cast<std::int32_t>(shape.list().size());
  const std::int32_t mixed = site.spots().shape >= 0 ? named : site.spots().trailing;
  if (state.carry.dim >= site.rank(input) - mixed) return merged(site, "it works along the batch");
  return row_wise(site, state.place());
}

Outcome pad(const Site& site) {
  const TensorId input = site.inputs().front();
  const State& state = site.state(input);
  if (!state.is_split() || !others_are_whole(site)) {
    return merged(site, "an argument other than the first carries the batch");
  }
  const auto& widths = site.argument(site.spots().shape).list();
  const auto pair = static_cast<std::size_t>(site.rank(input) - 1 - state.carry.dim);
  for (std::size_t i = 2 * pair; i < std::min(2 * pair + 2, widths.size()); ++i) {
    if (widths[i].integer() != 0) return merged(site, "it works along the batch");
  }
  return row_wise(site, state.place());
}

namespace {

/// Channels that hold the batch (instance norm): each row has statistics of its own.
Outcome norm_per_row(const Site& site, const Place& place) {
  const std::vector<TensorId> inputs = site.inputs();
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const State& state = site.state(inputs[i]);
    if (!state.is_split() || state.place() != Place{0, place.outer}) {
      return merged(site, "it works along the batch");
    }
  }
  Outcome outcome = row_wise(site, place);
  for (std::size_t i = 1; i < outcome.outputs.size(); ++i) {
    const TensorId output = site.call().outputs[i];
    const bool rows = output.valid() && site.has_batch(output);
    outcome.outputs[i] = rows ? split({0, place.outer}) : whole();
  }
  return outcome;
}

}  // namespace

Outcome batch_norm(const Site& site) {
  const TensorId input = site.inputs().front();
  const State& state = site.state(input);
  if (state.is_split() && state.carry.dim == 1) return norm_per_row(site, state.place());
  if (!state.is_split() || !others_are_whole(site)) {
    return merged(site, "an argument other than the first carries the batch");
  }
  const bool training = site.argument(site.spots().training).boolean().value_or(false);
  Outcome outcome = training
                        ? merged_in_place(site, state.place(), "its statistics are of all rows")
                        : row_wise(site, state.place());
  for (std::size_t i = 1; i < outcome.outputs.size(); ++i) outcome.outputs[i] = whole();
  return outcome;
}

Outcome together(const Site& site) {
  std::optional<Place> place;
  for (const TensorId input : site.inputs()) {
    const State& state = site.state(input);
    if (!state.is_split()) continue;
    if (state.carry.dim != 0 || (place && *place != state.place())) {
      return merged(site, "its arguments hold the batch at different places");
    }
    place = state.place();
  }
  Outcome outcome = row_wise(site, *place);
  outcome.sizes = Outcome::Sizes::kFollowRows;
  return outcome;
}

}  // namespace dynaflow::rows
