#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "dynaflow/graph/graph.h"
#include "support/world.h"

namespace dynaflow::testing {

using Random = std::mt19937_64;

/// A number in [low, high].
[[nodiscard]] std::int64_t pick(Random& random, std::int64_t low, std::int64_t high);
[[nodiscard]] bool chance(Random& random, double probability);

/// Where kernels of a random graph find the world of the run in progress.
struct WorldPointer {
  World* world = nullptr;
  /// Called by every kernel before it computes: the place to throw or to hang. From any lane.
  std::function<void(std::size_t op, RowRange rows)> before = {};
};

struct RandomGraph {
  Graph graph;
  std::shared_ptr<WorldPointer> world;
  std::vector<std::int64_t> symbols;  ///< values for the graph's symbols
};

/// A graph of `ops` ops or a few more over wrapping 64-bit integers: branches, in-place ops, views,
/// overwrites, states, coupled ops, partial sums, unplaced values, collectives, symbolic sizes,
/// values that hold the batch inside, bodies with scratch. Every value it computes is read later or
/// is an output, so no wrong byte goes unnoticed.
[[nodiscard]] RandomGraph random_graph(Random& random, int ops);

/// Other values for its symbols.
[[nodiscard]] std::vector<std::int64_t> some_symbols(const Graph& graph, Random& random);

}  // namespace dynaflow::testing
