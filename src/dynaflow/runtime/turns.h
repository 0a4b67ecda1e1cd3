#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "dynaflow/graph/kernel.h"
#include "dynaflow/plan/issue_order.h"

namespace dynaflow {

/// Keeps a plan's IssueOrder during a run: each step with a transfer has a Turn, and takes it when
/// the one before has passed it on. Turns may be taken on any lane.
class Turns {
 public:
  Turns(const Graph& graph, const Plan& plan);
  Turns(const Turns&) = delete;  // each Turn points back
  Turns& operator=(const Turns&) = delete;
  ~Turns() = default;

  /// Null for a step without transfers.
  [[nodiscard]] Turn* of(StepId step);

  /// Between runs: nothing is issued yet.
  void reset();
  /// Frees whoever waits, now and until `reset`. Any thread.
  void abort();

 private:
  class OfStep final : public Turn {
   public:
    OfStep(Turns& turns, StepId step) : turns_(&turns), step_(step) {}
    void take() override;
    void pass() override;

   private:
    Turns* turns_;
    StepId step_;
  };

  void take(StepId step);
  void pass(StepId step);

  IssueOrder order_;
  std::vector<OfStep> turns_;           ///< of steps that have one
  std::vector<std::uint32_t> of_step_;  ///< index into turns_
  std::mutex mutex_;
  std::condition_variable passed_;
  std::vector<std::uint32_t> issued_;  ///< per group; guarded by mutex_, like what follows
  bool aborted_ = false;
};

}  // namespace dynaflow
