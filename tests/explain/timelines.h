#pragma once

#include <string>
#include <utility>
#include <vector>

#include "dynaflow/explain/explanation.h"

namespace dynaflow {

inline Timeline::Span compute(std::uint32_t step, std::uint32_t lane, std::string label,
                              std::int64_t begin, std::int64_t end, std::vector<Wait> waits = {}) {
  return {{step}, {lane}, std::move(label), CostClass::kCompute,
          begin,  end,    {0, 1},           std::move(waits)};
}

inline Timeline::Span network(std::uint32_t step, std::uint32_t lane, std::string label,
                              std::int64_t begin, std::int64_t end, std::vector<Wait> waits = {}) {
  Timeline::Span span = compute(step, lane, std::move(label), begin, end, std::move(waits));
  span.cost = CostClass::kNetwork;
  return span;
}

inline Timeline::Span of_microbatch(std::uint32_t microbatch, Timeline::Span span) {
  span.microbatches = {microbatch, microbatch + 1};
  return span;
}

/// Two halves of a layer: one is on the wire while the other computes. ar.1 takes longer than there
/// is to compute, and mlp.1 starts 500 ns after it could.
inline Timeline leapfrog() {
  return {
      {"compute", "network"},
      {compute(0, 0, "attn.0", 0, 2000), of_microbatch(1, compute(1, 0, "attn.1", 2000, 4000)),
       network(2, 1, "ar.0", 2000, 3500, {{0, 1}}), compute(4, 0, "mlp.0", 4000, 5000, {{1, 1}}),
       of_microbatch(1, network(3, 1, "ar.1", 4000, 6500, {{0, 2}})),
       of_microbatch(1, compute(5, 0, "mlp.1", 7000, 9500, {{1, 2}}))},
      10000};
}

}  // namespace dynaflow
