#pragma once

#include "import/rows/rows.h"

/// Tracing turns "write to x" into "make a new x, and copy it back at the end". This undoes that
/// where nobody can tell the difference, so that a decode step copies no cache bytes, and a
/// collective no activations.
namespace dynaflow::inplace {

/// What was found and done, for `explain`.
struct Undone {
  std::uint32_t updates = 0;      ///< functional updates that now write in place
  std::uint32_t copies_back = 0;  ///< copies that are gone
  std::uint32_t clones = 0;       ///< written copies that had to be made, since both are needed
  std::uint32_t collectives = 0;  ///< that now work on the memory of their argument
};

/// Rewrites the Capture inside; how each call runs stays as it was.
Undone update_in_place(rows::Rows& rows);

}  // namespace dynaflow::inplace
