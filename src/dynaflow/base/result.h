#pragma once

#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "dynaflow/base/error.h"

namespace dynaflow {

/// A value, or why there is none. A caller's mistake is always one of these, never an abort.
template <class T>
using Result = tl::expected<T, Error>;

using Unexpected = tl::unexpected<Error>;

/// Turns a verifier's findings into a Result: no findings means all is well.
[[nodiscard]] inline Result<void> all_well(std::vector<Diagnostic> findings) {
  if (findings.empty()) return {};
  return Unexpected(Error(std::move(findings)));
}

}  // namespace dynaflow
