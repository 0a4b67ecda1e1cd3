#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "dynaflow/graph/builder.h"
#include "dynaflow/simulate/simulate.h"

namespace dynaflow {

/// One step of a plan written by hand: an op of its own that touches nothing, so that nothing but
/// lanes and waits orders it.
struct Job {
  std::uint32_t lane = 0;
  std::int64_t fixed_ns = 0;
  std::int64_t row_ns = 0;
  CostClass cost = CostClass::kCompute;
  std::vector<std::uint32_t> after = {};  ///< jobs that must be complete
  std::vector<Wait> waits = {};           ///< further waits, sensible or not
  MicrobatchRange microbatches = {0, 1};
  std::string group = {};
};

struct Sketch {
  std::vector<Job> jobs;
  std::vector<std::int64_t> rows = {10};  ///< per micro-batch
  Costs costs = {};
};

inline Graph graph_of(const Sketch& sketch) {
  GraphBuilder builder;
  for (std::size_t i = 0; i < sketch.jobs.size(); ++i) {
    OpSpec op;
    op.name = "op" + std::to_string(i);
    op.cost = sketch.jobs[i].cost;
    op.group = sketch.jobs[i].group;
    builder.op(op);
  }
  return builder.build().value();
}

/// The waits of job i, those for other jobs turned into counts of their lanes' steps.
inline std::vector<Wait> waits_of(const Plan& plan, const Job& job) {
  std::vector<Wait> waits = job.waits;
  for (const std::uint32_t earlier : job.after) {
    const Step& step = plan.steps[earlier];
    waits.push_back({step.lane.index, step.position + 1});
  }
  return waits;
}

inline void add_step(Plan& plan, const Job& job) {
  const auto at = static_cast<std::uint32_t>(plan.steps.size());
  while (plan.lanes.size() <= job.lane) {
    plan.lanes.push_back({"lane" + std::to_string(plan.lanes.size()), {}});
    plan.lane_steps.emplace_back();
  }
  const std::vector<Wait> waits = waits_of(plan, job);
  Step step;
  step.microbatches = job.microbatches;
  step.lane = {job.lane};
  step.position = static_cast<std::uint32_t>(plan.lane_steps[job.lane].size());
  step.ops = {at, 1};
  step.waits = {static_cast<std::uint32_t>(plan.step_waits.size()),
                static_cast<std::uint32_t>(waits.size())};
  plan.step_waits.insert(plan.step_waits.end(), waits.begin(), waits.end());
  plan.step_ops.push_back({at});
  plan.steps.push_back(step);
  plan.lane_steps[job.lane].push_back({at});
}

inline Plan plan_of(const Sketch& sketch) {
  Plan plan;
  plan.key.microbatches = static_cast<std::uint32_t>(sketch.rows.size());
  plan.key.empty.resize(sketch.rows.size());
  for (const Job& job : sketch.jobs) add_step(plan, job);
  return plan;
}

inline Placement placement_of(const Sketch& sketch) {
  Placement placement;
  placement.row_starts.push_back(0);
  for (const std::int64_t rows : sketch.rows) {
    placement.row_starts.push_back(placement.row_starts.back() + rows);
  }
  return placement;
}

inline Costs costs_of(const Sketch& sketch) {
  Costs costs = sketch.costs;
  for (const Job& job : sketch.jobs) costs.ops.push_back({job.fixed_ns, job.row_ns});
  return costs;
}

inline Buffers no_buffers(const Plan& plan) {
  Buffers buffers;
  buffers.scratch.resize(plan.steps.size());
  buffers.conflict_starts = {0};
  return buffers;
}

inline Result<Simulation> try_run(const Sketch& sketch) {
  const Plan plan = plan_of(sketch);
  return simulate(graph_of(sketch), plan, no_buffers(plan), placement_of(sketch), costs_of(sketch));
}

inline Timeline run(const Sketch& sketch) { return try_run(sketch).value().timeline; }

inline Timeline::Span span_of(const Timeline& timeline, std::uint32_t step) {
  return *std::find_if(timeline.spans.begin(), timeline.spans.end(),
                       [&](const Timeline::Span& span) { return span.step.index == step; });
}

inline std::int64_t begin_of(const Timeline& timeline, std::uint32_t step) {
  return span_of(timeline, step).begin_ns;
}
inline std::int64_t end_of(const Timeline& timeline, std::uint32_t step) {
  return span_of(timeline, step).end_ns;
}

}  // namespace dynaflow
