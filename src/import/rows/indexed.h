#pragma once

#include <optional>
#include <vector>

#include "import/rows/site.h"

namespace dynaflow::rows {

/// A tensor indexed by other tensors: which dimensions, and where they end up. The index tensors
/// are broadcast to one shape, which takes the place of the dimensions they index, or the front
/// when those are not neighbours.
struct Indexed {
  capture::TensorId source;
  std::vector<capture::TensorId> tensors = {};
  std::vector<std::int32_t> dims = {};  ///< of the source, one per index tensor
  std::vector<Extent> sizes = {};       ///< of the broadcast index
  std::int32_t start = 0;               ///< where it begins in the result

  [[nodiscard]] std::optional<capture::TensorId> index_of(std::int32_t dim) const;
  /// Where a dimension of the source that is not indexed is in the result.
  [[nodiscard]] std::int32_t result_dim(std::int32_t dim) const;
  [[nodiscard]] std::vector<Extent> result_sizes(const Site& site) const;
};

/// index(source, [none, i, j, …]); none where a mask picks.
[[nodiscard]] std::optional<Indexed> indexed_by_list(const Site& site);
/// index_select(source, dim, index) and its like.
[[nodiscard]] std::optional<Indexed> indexed_by_dim(const Site& site);

/// Whether `numbers` name the rows of `tensor` by position, so that row r finds only row r.
[[nodiscard]] bool number_rows_of(const Site& site, capture::TensorId numbers,
                                  capture::TensorId tensor);

}  // namespace dynaflow::rows
