#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace dynaflow::testing {

/// What a run leaves behind besides its outputs: the states' rows, and for every op and row a
/// digest of what the op computed there. Two runs are equal when their worlds are.
/// Kernels of different rows write different elements, so no locking is needed.
struct World {
  std::vector<std::vector<std::uint64_t>> states;  ///< per state, per batch row
  std::vector<std::vector<std::uint64_t>> trace;  ///< per op, per batch row (once-per-batch: row 0)

  World(std::size_t state_count, std::size_t op_count, std::int64_t rows);
  friend bool operator==(const World&, const World&) = default;
};

/// Wrapping, order-sensitive mixing: different inputs give different digests.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t digest, std::uint64_t next) {
  digest ^= next + 0x9e3779b97f4a7c15ULL + (digest << 6) + (digest >> 2);
  return digest * 6364136223846793005ULL + 1442695040888963407ULL;
}

}  // namespace dynaflow::testing
