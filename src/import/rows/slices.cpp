#include <algorithm>

#include "import/rows/families.h"
#include "import/rows/quotient.h"

namespace dynaflow::rows {

using capture::Argument;
using capture::TensorId;

namespace {

/// A run of indices along the batch's dimension holds whole copies of the batch when it begins and
/// ends at multiples of one copy. How many, if it does?
std::optional<Extent> copies(const Site& site, TensorId input, const Extent& length) {
  const auto count = quotient(length, site.batch() * site.inner(input));
  return count && !site.has_batch(*count) ? count : std::nullopt;
}

Outcome of_rows(Outcome outcome) {
  outcome.sizes = Outcome::Sizes::kFollowRows;
  return outcome;
}

bool is_one(const Argument& step) { return step.is_none() || step.integer() == 1; }

}  // namespace

Outcome slice(const Site& site) {
  const TensorId input = site.inputs().front();
  const Place from = site.state(input).place();
  if (site.dim(1, site.rank(input)).value_or(0) != from.dim) return row_wise(site, from);

  const Extent length = site.size(site.output(), from.dim);
  if (length == site.size(input, from.dim) && is_one(site.argument(4))) {
    return of_rows(row_wise(site, from));
  }
  const Argument& start = site.argument(2);
  const Extent begin = start.is_none() ? Extent(0) : start.size().value_or(1);
  const auto count = copies(site, input, length);
  const bool negative = begin.is_constant() && begin.constant() < 0;
  if (!count || negative || !copies(site, input, begin) || !is_one(site.argument(4))) {
    return merged(site, "it takes a slice of the batch's rows");
  }
  return of_rows(row_wise(site, Place{from.dim, *count}));
}

Outcome pieces(const Site& site) {
  const TensorId input = site.inputs().front();
  const Place from = site.state(input).place();
  if (site.dim(site.spots().dim, site.rank(input)).value_or(0) != from.dim) {
    return row_wise(site, from);
  }
  Outcome outcome;
  for (const TensorId output : site.call().outputs) {
    if (!output.valid()) return merged(site, "some of its slices are not known");
    const auto count = copies(site, input, site.size(output, from.dim));
    if (!count) return merged(site, "it takes slices of the batch's rows");
    outcome.outputs.push_back(split({from.dim, *count}));
  }
  return of_rows(outcome);
}

Outcome select(const Site& site) {
  const TensorId input = site.inputs().front();
  Place place = site.state(input).place();
  const std::int32_t gone = site.dim(1, site.rank(input)).value_or(0);
  if (gone == place.dim) return merged(site, "it picks single rows of the batch");
  if (gone < place.dim) --place.dim;
  return row_wise(site, place);
}

namespace {

/// An empty one-dimensional tensor joins a cat of any shape.
bool is_placeholder(const Site& site, TensorId tensor) {
  return site.sizes(tensor) == std::vector<Extent>{0};
}

Outcome cat_rows(const Site& site, const std::vector<TensorId>& parts, std::int32_t dim) {
  Extent outer = 0;
  const Extent inner = site.inner(parts.front());
  for (const TensorId part : parts) {
    const State& state = site.state(part);
    if (!state.is_split() || state.carry.dim != dim || site.inner(part) != inner) {
      return merged(site, "it joins rows of the batch with other rows");
    }
    outer += state.carry.outer;
  }
  return row_wise(site, Place{dim, outer});
}

}  // namespace

Outcome cat(const Site& site) {
  std::vector<TensorId> parts = site.inputs();
  std::erase_if(parts, [&](TensorId part) { return is_placeholder(site, part); });
  const std::int32_t dim = site.dim(1, site.rank(site.output())).value_or(0);
  const State& first = site.state(parts.front());
  if (first.is_split() && first.carry.dim == dim) return cat_rows(site, parts, dim);
  for (const TensorId part : parts) {
    const State& state = site.state(part);
    if (!state.is_split() || state.place() != first.place() || state.carry.dim == dim) {
      return merged(site, "its arguments hold the batch at different places");
    }
  }
  return row_wise(site, first.place());
}

Outcome stack(const Site& site) {
  const std::vector<TensorId> parts = site.inputs();
  Place place = site.state(parts.front()).place();
  for (const TensorId part : parts) {
    if (!site.state(part).is_split() || site.state(part).place() != place) {
      return merged(site, "its arguments hold the batch at different places");
    }
  }
  if (site.dim(1, site.rank(site.output())).value_or(0) <= place.dim) ++place.dim;
  return row_wise(site, place);
}

}  // namespace dynaflow::rows
