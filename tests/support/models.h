#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "dynaflow/compile.h"
#include "dynaflow/graph/builder.h"
#include "dynaflow/strategies/strategies.h"

namespace dynaflow::testing {

/// A small graph with one split input `x` and one output `y`, all in wrapping integers, so that
/// every schedule must give the same bits.
struct Model {
  Graph graph;
  ValueId x;
  ValueId y;
};

inline constexpr std::int64_t kColumns = 3;
inline constexpr Type kRow{Kind::kSplit, DType::kI64, kColumns};
inline constexpr Type kTable{Kind::kWhole, DType::kI64, kColumns};

/// Writes a number that depends on the salt and on everything read in the same row and column.
/// Values without rows are read and written as one row.
[[nodiscard]] Kernel mix(std::uint64_t salt);
/// Adds up the rows of `in(0)` into the partial sum `out(0)`.
void sum_rows(const KernelArgs& args);
/// The sum of all rows of `in(0)` into the whole value `out(0)`: right only on the whole batch.
void mean_rows(const KernelArgs& args);
/// Throws: the body of an op that must not run.
void never(const KernelArgs& args);

/// x -> first -> u -> second -> v -> third -> y
[[nodiscard]] Model three_in_a_row();
/// left and right read x; join reads both.
[[nodiscard]] Model two_branches();
/// x -> pre -> u; mean (coupled) u -> m; scale u, m -> y
[[nodiscard]] Model with_mean();
/// x -> pre -> u; sum u -> s (partial); use u, s -> y
[[nodiscard]] Model with_sum();
/// Two layers of attn -> reduce (network, group "tp") -> mlp.
[[nodiscard]] Model two_layers();
/// x -> sample -> k (unplaced) -> gather -> y
[[nodiscard]] Model with_unplaced();

/// x for this many rows.
[[nodiscard]] std::vector<std::int64_t> input_for(std::int64_t rows);
/// How many numbers y has for this many rows.
[[nodiscard]] std::size_t output_size(const Model& model, std::int64_t rows);

/// Runs an already compiled model once on `input_for(batch.rows)`.
[[nodiscard]] Result<std::vector<std::int64_t>> run_once(CompiledGraph& compiled,
                                                         const Model& model, const Batch& batch);
/// Compiles and runs the model once on the CPU.
[[nodiscard]] Result<std::vector<std::int64_t>> output_of(
    const Model& model, std::shared_ptr<const OpScheduler> strategy, const Batch& batch);
/// What the unsplit model gives.
[[nodiscard]] std::vector<std::int64_t> plain_output(const Model& model, const Batch& batch);

}  // namespace dynaflow::testing
