#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "dynaflow/compile.h"
#include "support/models.h"

namespace dynaflow::testing {

/// The graph's Program under a strategy, for these sizes.
inline Result<Program> prepare(const Graph& graph, const OpScheduler& strategy, const Split& split,
                               Device& device, std::shared_ptr<Arena> arena = nullptr) {
  auto placed = make_placed_plan(std::make_shared<const Graph>(graph), strategy, split);
  if (!placed) return Unexpected(placed.error());
  if (arena) return Program::make(std::move(*placed), std::move(arena), split);
  return Program::make(std::move(*placed), device, split);
}

/// Runs once on `input_for(rows)`.
inline Result<std::vector<std::int64_t>> run_rows(Program& program, const Model& model,
                                                  std::int64_t rows,
                                                  const RunOptions& options = {}) {
  const std::vector<std::int64_t> x = input_for(rows);
  std::vector<std::int64_t> y(output_size(model, rows), -1);
  const Binding bindings[] = {bind(model.x, x), bind(model.y, y)};
  const auto stats = program.run(bindings, options);
  if (!stats) return Unexpected(stats.error());
  return y;
}

}  // namespace dynaflow::testing
