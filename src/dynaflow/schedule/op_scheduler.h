#pragma once

#include <string_view>

#include "dynaflow/schedule/batch.h"
#include "dynaflow/schedule/schedule_context.h"

namespace dynaflow {

/// A strategy: a small program that decides how a batch is split and in which order, and on which
/// lane, each op of each micro-batch runs. It runs when a plan is recorded, never in steady state,
/// so both functions must depend on nothing but their argument.
class OpScheduler {
 public:
  virtual ~OpScheduler() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual Split split(const Batch& batch) const = 0;
  virtual void schedule(ScheduleContext& ctx) const = 0;
};

/// Calls the strategy's `schedule` and keeps what it did. Never fails and never hangs: what went
/// wrong is in Schedule::findings, and `verify` judges the rest.
[[nodiscard]] Schedule record(const Graph& graph, const OpScheduler& scheduler, const Split& split);

}  // namespace dynaflow
