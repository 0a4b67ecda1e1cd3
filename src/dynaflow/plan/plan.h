#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dynaflow/base/lane.h"
#include "dynaflow/graph/graph.h"
#include "dynaflow/schedule/schedule.h"

namespace dynaflow {

/// A part of one of the Plan's arrays.
struct Slice {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// One op (or a replaced chain) on one or several adjacent micro-batches on one lane.
struct Step {
  MicrobatchRange microbatches;
  LaneId lane;
  std::uint32_t position = 0;  ///< among its lane's steps
  Slice ops;
  Slice operands;  ///< what the body sees: reads first; the first part of a sum is a kWrite
  std::uint32_t reads = 0;
  Slice waits;
  std::uint32_t replacement = kNoReplacement;
};

/// Steps per lane with the waits that data demands and no others. Independent of sizes.
/// Steps whose micro-batches are all empty are left out unless they must happen anyway.
struct Plan {
  std::string strategy;
  Schedule::Key key;
  std::vector<LaneRequest> lanes;
  std::vector<Replacement> replacements;
  std::vector<Step> steps;                      ///< in recorded order
  std::vector<std::vector<StepId>> lane_steps;  ///< each lane's steps, in order
  std::vector<OpId> step_ops;                   ///< see Step::ops
  std::vector<Operand> step_operands;           ///< see Step::operands
  std::vector<Wait> step_waits;                 ///< see Step::waits

  [[nodiscard]] std::uint32_t microbatches() const { return key.microbatches; }
  [[nodiscard]] std::span<const OpId> ops(const Step& step) const {
    return std::span(step_ops).subspan(step.ops.first, step.ops.count);
  }
  [[nodiscard]] std::span<const Operand> operands(const Step& step) const {
    return std::span(step_operands).subspan(step.operands.first, step.operands.count);
  }
  [[nodiscard]] std::span<const Wait> waits(const Step& step) const {
    return std::span(step_waits).subspan(step.waits.first, step.waits.count);
  }
};

/// Derives each step's waits from what it and earlier steps read and write, and keeps those that
/// no other wait and no lane's order implies. The schedule must have passed `verify`.
[[nodiscard]] Plan make_plan(const Graph& graph, const Schedule& schedule);

/// The body that runs the step; null where a kernel does.
[[nodiscard]] const Body* body_of(const Graph& graph, const Plan& plan, const Step& step);
/// The kernel that runs the step; empty where a body does.
[[nodiscard]] const Kernel& kernel_of(const Graph& graph, const Plan& plan, const Step& step);

/// "attn.0", "mlp.0-1" (merged), "fused[attn+norm].1" (replaced).
[[nodiscard]] std::string label(const Graph& graph, const Plan& plan, const Step& step);
/// For messages: "attn on microbatch 0", "mlp on microbatches 0-1".
[[nodiscard]] std::string describe(const Graph& graph, const Plan& plan, const Step& step);

/// The picture: a line per lane, a column per step in recorded order, `<x.0` for each wait.
[[nodiscard]] std::string to_string(const Plan& plan, const Graph& graph);

}  // namespace dynaflow
