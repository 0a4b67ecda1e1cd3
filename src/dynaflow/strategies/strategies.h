#pragma once

#include <algorithm>

#include "dynaflow/schedule/op_scheduler.h"

namespace dynaflow {

/// One op after the other on one lane, micro-batch by micro-batch. With one part, the plain model.
class Sequential final : public OpScheduler {
 public:
  explicit Sequential(int parts = 1) : parts_(parts) {}

  [[nodiscard]] std::string_view name() const override { return "Sequential"; }
  [[nodiscard]] Split split(const Batch& batch) const override;
  void schedule(ScheduleContext& ctx) const override;

 private:
  int parts_;
};

/// One op of each micro-batch in turn; collectives and ops tagged "network" on a lane of their own,
/// so that one micro-batch computes while another one's transfer is on the wire.
class Leapfrog final : public OpScheduler {
 public:
  explicit Leapfrog(int parts = 2) : parts_(parts) {}

  [[nodiscard]] std::string_view name() const override { return "Leapfrog"; }
  [[nodiscard]] Split split(const Batch& batch) const override;
  void schedule(ScheduleContext& ctx) const override;

 private:
  int parts_;
};

/// Independent branches of one micro-batch side by side: whenever several ops are ready, they are
/// dealt out to the lanes in turn.
class Branches final : public OpScheduler {
 public:
  explicit Branches(int lanes = 2, int parts = 1) : lanes_(std::max(lanes, 1)), parts_(parts) {}

  [[nodiscard]] std::string_view name() const override { return "Branches"; }
  [[nodiscard]] Split split(const Batch& batch) const override;
  void schedule(ScheduleContext& ctx) const override;

 private:
  int lanes_;
  int parts_;
};

}  // namespace dynaflow
