#include <algorithm>

#include "import/rows/families.h"
#include "import/rows/indexed.h"

namespace dynaflow::rows {

using capture::TensorId;

namespace {

constexpr auto kWritesByNumber = "it writes rows of the batch by number";

bool all_whole(const Site& site, const std::vector<TensorId>& tensors) {
  return std::ranges::all_of(tensors, [&](TensorId t) { return site.state(t).is_whole(); });
}

/// Writes `values` to the indexed part of a split tensor.
Outcome put(const Site& site, const Indexed& indexed, std::optional<TensorId> values) {
  const State& source = site.state(indexed.source);
  if (!source.is_split()) return merged(site, "it writes rows to a whole tensor");
  const auto finds_rows = indexed.index_of(source.carry.dim);
  Outcome outcome = row_wise(site, source.place());
  Place at = source.place();
  if (finds_rows) {
    const Alignment aligned = align(site, indexed.tensors, indexed.sizes);
    if (!aligned.place || !number_rows_of(site, *finds_rows, indexed.source)) {
      return merged(site, kWritesByNumber);
    }
    at = {indexed.start + aligned.place->dim, aligned.place->outer};
    outcome.counted = {*finds_rows};
  } else {
    if (!all_whole(site, indexed.tensors)) return merged(site, kWritesByNumber);
    at.dim = indexed.result_dim(at.dim);
  }
  if (values && !joins(site, *values, indexed.result_sizes(site), at)) {
    return merged(site, "what it writes does not hold the batch where its target does");
  }
  return outcome;
}

/// Whether it writes one number wherever a mask says so, and the mask has the target's rows.
bool fills_by_mask(const Site& site) {
  const State& target = site.state(*site.tensor_at(0));
  const auto& indices = site.argument(1).list();
  const auto mask = indices.size() == 1 ? indices.front().tensor() : std::nullopt;
  const auto value = site.tensor_at(2);
  if (!mask || !value || site.dtype(*mask) != DType::kBool || !target.is_split()) return false;
  return site.rank(*value) == 0 && site.state(*value).is_whole() && site.state(*mask).is_split() &&
         site.state(*mask).place() == target.place();
}

}  // namespace

Outcome index_put(const Site& site) {
  if (fills_by_mask(site)) return row_wise(site, site.state(*site.tensor_at(0)).place());
  const auto indexed = indexed_by_list(site);
  if (!indexed) return merged(site, "it writes by the contents of all rows");
  return put(site, *indexed, site.tensor_at(2));
}

Outcome index_copy(const Site& site) {
  const auto indexed = indexed_by_dim(site);
  if (!indexed) return merged(site, kWritesByNumber);
  return put(site, *indexed, site.tensor_at(3));
}

Outcome scatter(const Site& site) {
  const TensorId target = *site.tensor_at(0);
  const Place place = site.state(target).place();
  const auto dim = site.dim(1, site.rank(target));
  for (const TensorId input : site.inputs()) {
    const State& state = site.state(input);
    const bool alone = input != target && site.rank(input) == 0 && state.is_whole();
    const bool same = state.is_split() && state.place() == place && place.dim != dim &&
                      site.size(input, place.dim) == site.size(target, place.dim);
    if (!alone && !same) return merged(site, kWritesByNumber);
  }
  return row_wise(site, place);
}

Outcome slice_scatter(const Site& site) {
  const TensorId target = *site.tensor_at(0);
  const TensorId source = *site.tensor_at(1);
  const State& rows = site.state(target);
  const auto dim = site.dim(2, site.rank(target));
  const bool drops = site.rank(source) < site.rank(target);  // select_scatter
  if (!rows.is_split() || !site.state(source).is_split()) {
    return merged(site, "only one of its tensors carries the batch");
  }
  Place at = rows.place();
  const bool every_row = !drops && site.sizes(source) == site.sizes(target);
  if (at.dim == dim && !every_row) return merged(site, "it writes a slice of the batch's rows");
  if (drops && *dim < at.dim) --at.dim;
  if (site.state(source).place() != at) {
    return merged(site, "what it writes does not hold the batch where its target does");
  }
  return row_wise(site, rows.place());
}

}  // namespace dynaflow::rows
