#pragma once

#include <cstdint>
#include <vector>

#include "import/capture/capture.h"

namespace dynaflow::cut {

/// Whether a call only looks at its argument's memory in another shape. Such calls cost nothing:
/// whoever reads through one makes it again.
[[nodiscard]] bool is_view(const capture::Call& call);

/// Who makes each tensor, and whose memory it is.
struct Views {
  explicit Views(const capture::Capture& capture);

  std::vector<capture::CallId> producer;  ///< per tensor; invalid for inputs
  std::vector<capture::TensorId> base;    ///< per tensor; itself, if it has memory of its own

  /// A view call, and which of its outputs is meant.
  struct Link {
    capture::CallId call;
    std::uint32_t output = 0;
  };
  /// The view calls that lead from a tensor's base to it, in order.
  [[nodiscard]] std::vector<Link> chain(const capture::Capture& capture,
                                        capture::TensorId tensor) const;
};

}  // namespace dynaflow::cut
