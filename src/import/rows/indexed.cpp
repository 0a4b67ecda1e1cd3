#include "import/rows/indexed.h"

#include <algorithm>

namespace dynaflow::rows {

using capture::TensorId;

namespace {

std::vector<Extent> broadcast(const Site& site, const std::vector<TensorId>& tensors) {
  std::vector<Extent> sizes;
  for (const TensorId tensor : tensors) {
    const auto rank = static_cast<std::size_t>(site.rank(tensor));
    if (rank > sizes.size()) sizes.insert(sizes.begin(), rank - sizes.size(), Extent(1));
    for (std::size_t i = 0; i < rank; ++i) {
      Extent& size = sizes[sizes.size() - rank + i];
      if (size == Extent(1)) size = site.sizes(tensor)[i];
    }
  }
  return sizes;
}

bool are_neighbours(const std::vector<std::int32_t>& dims) {
  return dims.back() - dims.front() == static_cast<std::int32_t>(dims.size()) - 1;
}

}  // namespace

std::optional<TensorId> Indexed::index_of(std::int32_t dim) const {
  const auto at = std::ranges::find(dims, dim);
  if (at == dims.end()) return {};
  return tensors[static_cast<std::size_t>(at - dims.begin())];
}

std::int32_t Indexed::result_dim(std::int32_t dim) const {
  const auto before = static_cast<std::int32_t>(
      std::ranges::count_if(dims, [&](std::int32_t d) { return d < dim; }));
  const std::int32_t kept = dim - before;
  return kept < start ? kept : kept + static_cast<std::int32_t>(sizes.size());
}

std::vector<Extent> Indexed::result_sizes(const Site& site) const {
  std::vector<Extent> result;
  for (std::int32_t d = 0; d < site.rank(source); ++d) {
    if (!index_of(d)) result.push_back(site.size(source, d));
  }
  result.insert(result.begin() + start, sizes.begin(), sizes.end());
  return result;
}

std::optional<Indexed> indexed_by_list(const Site& site) {
  Indexed indexed{.source = *site.tensor_at(0)};
  const auto& list = site.argument(1).list();
  for (std::size_t d = 0; d < list.size(); ++d) {
    const auto tensor = list[d].tensor();
    if (!tensor) continue;
    const DType dtype = site.dtype(*tensor);
    if (dtype == DType::kBool || dtype == DType::kU8) return {};
    indexed.tensors.push_back(*tensor);
    indexed.dims.push_back(static_cast<std::int32_t>(d));
  }
  if (indexed.tensors.empty()) return {};
  indexed.sizes = broadcast(site, indexed.tensors);
  indexed.start = are_neighbours(indexed.dims) ? indexed.dims.front() : 0;
  return indexed;
}

std::optional<Indexed> indexed_by_dim(const Site& site) {
  const TensorId source = *site.tensor_at(0);
  const auto dim = site.dim(1, site.rank(source));
  const auto tensor = site.tensor_at(2);
  if (!dim || !tensor || site.rank(*tensor) != 1) return {};
  return Indexed{.source = source,
                 .tensors = {*tensor},
                 .dims = {*dim},
                 .sizes = site.sizes(*tensor),
                 .start = *dim};
}

bool number_rows_of(const Site& site, TensorId numbers, TensorId tensor) {
  const State& state = site.state(numbers);
  const State& rows = site.state(tensor);
  const std::vector<TensorId> inputs = site.inputs();
  // Used twice, they might be meant as the batch's numbers the other time.
  if (std::ranges::count(inputs, numbers) != 1) return false;
  return state.role == State::Role::kRowNumbers && rows.is_split() &&
         rows.carry.outer == Extent(1) && site.inner(tensor) == state.step;
}

}  // namespace dynaflow::rows
