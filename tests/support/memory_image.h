#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dynaflow/runtime/binding.h"
#include "support/random_graph.h"

namespace dynaflow::testing {

/// The caller's memory for one run: an input or output per storage, filled from a seed.
struct MemoryImage {
  std::vector<std::vector<std::uint64_t>> words;  ///< per storage; empty for internal ones

  MemoryImage(const RandomGraph& random, std::int64_t rows, std::uint64_t seed);
  [[nodiscard]] std::vector<Binding> bindings(const Graph& graph);
  friend bool operator==(const MemoryImage&, const MemoryImage&) = default;
};

/// All of a storage's rows in plain memory, seen as `value`.
[[nodiscard]] View view_of_rows(const Graph& graph, const Value& value, std::byte* memory,
                                std::int64_t rows, std::span<const std::int64_t> symbols);

/// What a run left behind.
struct Outcome {
  MemoryImage memory;
  World world;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

/// Runs the ops one by one, unsplit, in program order, on plain full-size memory: what every
/// schedule must reproduce. Uses nothing of DynaFlow but the Graph.
[[nodiscard]] Outcome reference_run(const RandomGraph& graph, std::int64_t rows,
                                    std::uint64_t seed);

}  // namespace dynaflow::testing
