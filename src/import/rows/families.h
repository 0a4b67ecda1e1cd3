#pragma once

#include "import/rows/site.h"

/// The families of calls: how the batch comes out, given how it goes in. Each is called where an
/// argument is split; those marked * also where none is but a result has the batch in a size.
namespace dynaflow::rows {

using Family = Outcome (*)(const Site& site);

// pointwise.cpp
Outcome pointwise(const Site& site);   ///< broadcast against each other, element by element
Outcome onto_first(const Site& site);  ///< broadcast against the first, which gives the shape
Outcome check(const Site& site);       ///< looks, and gives nothing back

// views.cpp, slices.cpp
Outcome view(const Site& site);       ///< the same elements in the same order
Outcome permute(const Site& site);    ///< dimensions in the order named
Outcome transpose(const Site& site);  ///< two dimensions change places
Outcome expand(const Site& site);     ///< *
Outcome repeat(const Site& site);     ///< *
Outcome as_strided(const Site& site);
Outcome slice(const Site& site);
Outcome pieces(const Site& site);  ///< consecutive slices that cover a dimension
Outcome select(const Site& site);  ///< one index, or each, of a dimension that goes away
Outcome cat(const Site& site);
Outcome stack(const Site& site);

// reductions.cpp
Outcome sum(const Site& site);
Outcome reduce(const Site& site);   ///< any other reduction
Outcome along(const Site& site);    ///< mixes the named dimensions, keeps the shape
Outcome leading(const Site& site);  ///< mixes the last dimensions, whatever their sizes become
Outcome pad(const Site& site);      ///< adds to the ends of dimensions, listed from the last one
Outcome batch_norm(const Site& site);
Outcome together(const Site& site);  ///< all tensors share dimension 0, or are whole

// matrix.cpp
Outcome contract(const Site& site);
Outcome linear(const Site& site);
Outcome einsum(const Site& site);
Outcome convolution(const Site& site);

// attention.cpp
Outcome attention(const Site& site);

// indexing.cpp, scatter.cpp
Outcome embedding(const Site& site);
Outcome index(const Site& site);
Outcome index_select(const Site& site);
Outcome gather(const Site& site);
Outcome index_put(const Site& site);
Outcome index_copy(const Site& site);  ///< index_copy, index_add, index_fill
Outcome scatter(const Site& site);
Outcome slice_scatter(const Site& site);  ///< slice_scatter, select_scatter

// factories.cpp
Outcome constant(const Site& site);       ///< *
Outcome constant_like(const Site& site);  ///< *
Outcome arange(const Site& site);         ///< *
Outcome drawn(const Site& site);          ///< *

// collectives.cpp
Outcome all_gather(const Site& site);
Outcome reduce_scatter(const Site& site);
Outcome all_to_all(const Site& site);

// table.cpp
Outcome by_contents(const Site& site);  ///< what comes out depends on all rows' contents
Outcome declared(const Site& site);     ///< a custom op that was declared row-wise

// order.cpp
/// A sort of the rows, and what is done to rows in its order until they are put back.
[[nodiscard]] bool touches_order(const Site& site);
Outcome in_order(const Site& site, Family family);
/// Whether the call sorts whole rows, so that each micro-batch may sort its own.
[[nodiscard]] bool sorts_rows(const Site& site);
Outcome sort_rows(const Site& site);

}  // namespace dynaflow::rows
