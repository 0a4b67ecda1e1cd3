#include <algorithm>

#include "import/rows/families.h"
#include "import/rows/quotient.h"

namespace dynaflow::rows {

using capture::TensorId;

namespace {

Outcome with_sizes_of_rows(Outcome outcome) {
  outcome.sizes = Outcome::Sizes::kFollowRows;
  return outcome;
}

/// The elements keep their order, so the batch keeps what varies slower than it: `slower` index
/// combinations. Where in `tensor` is that?
std::optional<Place> place_after(const Site& site, TensorId tensor, const Extent& slower) {
  Extent before = 1;
  for (std::int32_t d = 0; d < site.rank(tensor); ++d) {
    if (site.has_batch(site.size(tensor, d))) {
      const auto outer = quotient(slower, before);
      if (outer && site.fits(tensor, {d, *outer})) return Place{d, *outer};
      return {};
    }
    before *= site.size(tensor, d);
  }
  return {};
}

}  // namespace

Outcome view(const Site& site) {
  const TensorId input = site.inputs().front();
  const Place from = site.state(input).place();
  Extent slower = from.outer;
  for (std::int32_t d = 0; d < from.dim; ++d) slower *= site.size(input, d);
  const auto to = place_after(site, site.output(), slower);
  if (!to) return merged(site, "the view takes the batch's dimension apart");
  return with_sizes_of_rows(row_wise(site, *to));
}

Outcome permute(const Site& site) {
  const TensorId input = site.inputs().front();
  const Place from = site.state(input).place();
  const auto order = site.dims(site.spots().dim, site.rank(input));
  const auto at = std::ranges::find(order, from.dim);
  return row_wise(site, Place{static_cast<std::int32_t>(at - order.begin()), from.outer});
}

Outcome transpose(const Site& site) {
  const TensorId input = site.inputs().front();
  Place place = site.state(input).place();
  const std::int32_t rank = site.rank(input);
  const bool named = site.spots().dim >= 0;
  const std::int32_t a = named ? site.dim(site.spots().dim, rank).value_or(0) : 0;
  const std::int32_t b = named ? site.dim(site.spots().dim + 1, rank).value_or(0) : rank - 1;
  if (place.dim == a) {
    place.dim = b;
  } else if (place.dim == b) {
    place.dim = a;
  }
  return row_wise(site, place);
}

Outcome expand(const Site& site) {
  const TensorId input = site.inputs().front();
  if (!site.state(input).is_split()) {
    const auto place = site.natural_place(site.output());
    if (!place) return merged(site, "it spreads a tensor over the batch more than once");
    return with_sizes_of_rows(row_wise(site, *place));
  }
  const Alignment aligned = align(site, std::vector{input}, site.sizes(site.output()));
  if (!aligned.place) return merged(site, aligned.clash);
  return with_sizes_of_rows(row_wise(site, *aligned.place));
}

Outcome repeat(const Site& site) {
  const TensorId input = site.inputs().front();
  if (!site.state(input).is_split()) return expand(site);
  Place place = site.state(input).place();
  place.dim += site.rank(site.output()) - site.rank(input);
  const auto& times = site.argument(1).list();
  const auto count = times[static_cast<std::size_t>(place.dim)].size();
  place.outer *= count.value_or(0);
  return with_sizes_of_rows(row_wise(site, place));
}

/// Looks at memory, not at dimensions: understood where the rows lie one after the other without
/// gaps, and each is looked at from its beginning and no further than its end.
Outcome as_strided(const Site& site) {
  const TensorId input = site.inputs().front();
  const TensorId output = site.output();
  const auto place = site.natural_place(output);
  const Place from = site.state(input).place();
  const Extent row = site.strides(input)[static_cast<std::size_t>(from.dim)];
  Extent elements = 1;
  for (const Extent& size : site.sizes(input)) elements *= size;
  const auto unclear = [&] { return merged(site, "it may look at several rows at once"); };
  if (!place || !row.is_constant() || !site.argument(3).is_none()) return unclear();
  const bool dense = elements == row * site.size(input, from.dim);
  const bool same = site.size(output, place->dim) == site.size(input, from.dim);
  if (!dense || !same || from.outer != Extent(1)) return unclear();
  std::int64_t reach = 0;
  for (std::int32_t d = 0; d < site.rank(output); ++d) {
    const Extent& stride = site.strides(output)[static_cast<std::size_t>(d)];
    if (d == place->dim) {
      if (stride != row) return unclear();
      continue;
    }
    if (!stride.is_constant() || !site.size(output, d).is_constant()) return unclear();
    reach += (site.size(output, d).constant() - 1) * stride.constant();
  }
  return reach < row.constant() ? with_sizes_of_rows(row_wise(site, *place)) : unclear();
}

}  // namespace dynaflow::rows
