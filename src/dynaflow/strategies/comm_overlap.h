#pragma once

#include <optional>
#include <utility>

#include "dynaflow/schedule/op_scheduler.h"
#include "dynaflow/strategies/measured_costs.h"

namespace dynaflow {

/// Micro-batches leapfrog: while one micro-batch's transfer is on the wire, the others compute. Two
/// transfers may be on their way at once, so that the wire has work when one of them waits for a
/// core.
///
///   compute  | attn.0  attn.1        mlp.0 <ar.0   mlp.1 <ar.1
///   network  |         ar.0 <attn.0
///   network2 |                       ar.1 <attn.1
///
/// How many there are is given, or decided for each batch from what the model costs on this
/// machine.
class CommOverlap final : public OpScheduler {
 public:
  explicit CommOverlap(int parts = 2) : parts_(parts) {}
  explicit CommOverlap(MeasuredCosts costs, int most_parts = 4)
      : parts_(most_parts), costs_(std::move(costs)) {}

  [[nodiscard]] std::string_view name() const override { return "CommOverlap"; }
  [[nodiscard]] Split split(const Batch& batch) const override;
  void schedule(ScheduleContext& ctx) const override;

 private:
  int parts_;
  std::optional<MeasuredCosts> costs_;
};

}  // namespace dynaflow
