#include <algorithm>

#include "import/rows/families.h"
#include "import/rows/indexed.h"

namespace dynaflow::rows {

using capture::TensorId;

namespace {

constexpr auto kByContents = "it picks by the contents of all rows";

Outcome index_by(const Site& site, const Indexed& indexed) {
  const State& source = site.state(indexed.source);
  const Alignment aligned = align(site, indexed.tensors, indexed.sizes);
  if (!aligned.clash.empty()) return merged(site, aligned.clash);
  if (!source.is_split()) {
    return row_wise(site, Place{indexed.start + aligned.place->dim, aligned.place->outer});
  }
  const auto finds_rows = indexed.index_of(source.carry.dim);
  if (!finds_rows) {
    if (aligned.place) return merged(site, "every row looks up every row's indices");
    return row_wise(site, Place{indexed.result_dim(source.carry.dim), source.carry.outer});
  }
  if (!number_rows_of(site, *finds_rows, indexed.source)) {
    return merged(site, "it looks up rows of the batch by number");
  }
  Outcome outcome = row_wise(site, Place{indexed.start + aligned.place->dim, aligned.place->outer});
  outcome.counted = {*finds_rows};
  return outcome;
}

}  // namespace

Outcome index(const Site& site) {
  const auto indexed = indexed_by_list(site);
  return indexed ? index_by(site, *indexed) : merged(site, kByContents);
}

Outcome index_select(const Site& site) {
  const auto indexed = indexed_by_dim(site);
  return indexed ? index_by(site, *indexed) : merged(site, kByContents);
}

Outcome embedding(const Site& site) {
  const State& indices = site.state(*site.tensor_at(1));
  if (site.state(*site.tensor_at(0)).is_split()) {
    return merged(site, "its table carries the batch");
  }
  return row_wise(site, indices.place());
}

Outcome gather(const Site& site) {
  const TensorId source = *site.tensor_at(0);
  const TensorId indices = *site.tensor_at(2);
  const Place place = site.state(indices).place();
  const auto dim = site.dim(1, site.rank(source));
  if (!site.state(indices).is_split())
    return merged(site, "it looks up rows of the batch by number");
  if (!site.state(source).is_split() && place.dim == dim) return row_wise(site, place);
  const bool same = site.state(source).is_split() && site.state(source).place() == place &&
                    site.size(source, place.dim) == site.size(indices, place.dim);
  if (!same || place.dim == dim) return merged(site, "it looks up rows of the batch by number");
  return row_wise(site, place);
}

}  // namespace dynaflow::rows
