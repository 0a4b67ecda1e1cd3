#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "dynaflow/schedule/op_scheduler.h"

namespace dynaflow::testing {

using Recorder = std::function<void(ScheduleContext&)>;
using Splitter = std::function<Split(const Batch&)>;

inline Split in_halves(const Batch& batch) { return batch.even(2); }

/// A strategy written in a line.
class Scripted final : public OpScheduler {
 public:
  explicit Scripted(Recorder schedule, Splitter split = in_halves)
      : schedule_(std::move(schedule)), split_(std::move(split)) {}

  [[nodiscard]] std::string_view name() const override { return "Scripted"; }
  [[nodiscard]] Split split(const Batch& batch) const override { return split_(batch); }
  void schedule(ScheduleContext& ctx) const override { schedule_(ctx); }

 private:
  Recorder schedule_;
  Splitter split_;
};

inline std::shared_ptr<const OpScheduler> scripted(Recorder schedule, Splitter split = in_halves) {
  return std::make_shared<Scripted>(std::move(schedule), std::move(split));
}

/// Executes whatever is ready, in program order, until nothing is left.
inline void finish(ScheduleContext& ctx, const ExecuteOptions& options = {}) {
  while (ctx.unfinished()) {
    for (const ReadyOp& op : ctx.get_ready_ops()) ctx.execute(op, options);
  }
}

/// The ready op of that name on the lowest micro-batch that has it.
inline ReadyOp ready(ScheduleContext& ctx, std::string_view name) {
  for (const ReadyOp& op : ctx.get_ready_ops()) {
    if (op.name() == name) return op;
  }
  return {};
}

/// The ready op of that name on this micro-batch.
inline ReadyOp ready(ScheduleContext& ctx, std::string_view name, std::uint32_t mb) {
  for (const ReadyOp& op : ctx.get_ready_ops(Microbatch{mb})) {
    if (op.name() == name) return op;
  }
  return {};
}

}  // namespace dynaflow::testing
