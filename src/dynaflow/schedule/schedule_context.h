#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "dynaflow/schedule/schedule.h"

namespace dynaflow {

class ScheduleContext;

/// An op that may be executed now, on these micro-batches. Valid in the recording it came from.
class ReadyOp {
 public:
  /// A handle to nothing, which `execute` refuses.
  ReadyOp();

  [[nodiscard]] OpId id() const { return id_; }
  [[nodiscard]] MicrobatchRange microbatches() const { return microbatches_; }
  [[nodiscard]] const std::string& name() const { return op_->name; }
  [[nodiscard]] const std::vector<std::string>& tags() const { return op_->tags; }
  [[nodiscard]] bool has_tag(std::string_view tag) const { return op_->has_tag(tag); }
  [[nodiscard]] CostClass cost() const { return op_->cost; }
  /// The process group of a collective; empty for all else.
  [[nodiscard]] const std::string& group() const { return op_->group; }

 private:
  friend class ScheduleContext;

  const Op* op_;
  OpId id_;
  MicrobatchRange microbatches_;
  std::uint64_t recording_ = 0;
};

/// A lane of this recording.
class Lane {
 public:
  Lane() = default;

 private:
  friend class ScheduleContext;
  LaneId id_;
  std::uint64_t recording_ = 0;
};

/// A step that was recorded, to order others after it.
class IssuedStep {
 public:
  IssuedStep() = default;

 private:
  friend class ScheduleContext;
  StepId id_;
  std::uint64_t recording_ = 0;
};

/// How to execute.
struct ExecuteOptions {
  Lane lane = {};
  std::optional<Replacement> replace_func = {};  ///< runs instead of the ops' own kernels, fused
  std::vector<IssuedStep> after = {};            ///< start only when these have finished
};

/// What a strategy sees while it records: which ops are ready, and `execute`.
///
/// Ready means that everything an op needs has been issued: true data readiness, not program
/// order, so branches of one micro-batch are ready together. An op that runs once per batch shows
/// up once, in the lowest micro-batch's list, when all micro-batches have reached it; its
/// `microbatches()` are then all of them.
///
/// Mistakes are recorded, not thrown, and judged as a whole afterwards. A strategy that asks again
/// and again without executing anything is stopped (S9).
class ScheduleContext {
 public:
  ScheduleContext(const Graph& graph, const Split& split);

  /// The ops' operands and types: what a replacement for them must be written for
  /// (chain_boundary).
  [[nodiscard]] const Graph& graph() const { return graph_; }
  [[nodiscard]] MicrobatchRange microbatches() const { return {0, split_.count()}; }
  /// The rows of a micro-batch. A plan whose strategy asked is used for these sizes only.
  [[nodiscard]] std::int64_t rows(Microbatch mb);

  /// A snapshot in program order.
  [[nodiscard]] std::vector<ReadyOp> get_ready_ops(Microbatch mb);
  /// The same over all micro-batches: by program order, then micro-batch.
  [[nodiscard]] std::vector<ReadyOp> get_ready_ops();
  /// The first of the micro-batch's ready ops: all that a strategy in program order needs.
  [[nodiscard]] std::optional<ReadyOp> first_ready_op(Microbatch mb);
  /// What would become ready on the same micro-batches if `ops` had been executed: the way to
  /// find the next member of a chain.
  [[nodiscard]] std::vector<ReadyOp> get_ready_after(const std::vector<ReadyOp>& ops);
  [[nodiscard]] bool unfinished();

  /// The lane of that name, made at the first call, which also fixes its share. The lane asked for
  /// first is run by the caller's own thread.
  Lane lane(std::string_view name, Share share = {});

  /// Runs one op; or the same op of adjacent micro-batches merged into one; or a chain of ops,
  /// fused where `replace_func` is given and otherwise one after the other. Without a lane, on
  /// the first one.
  IssuedStep execute(const ReadyOp& op, ExecuteOptions options = {},
                     const Where& where = std::source_location::current());
  IssuedStep execute(const std::vector<ReadyOp>& ops, ExecuteOptions options = {},
                     const Where& where = std::source_location::current());

 private:
  friend Schedule record(const Graph& graph, const class OpScheduler& scheduler,
                         const Split& split);

  [[nodiscard]] std::size_t slot(OpId op, std::uint32_t mb) const;
  [[nodiscard]] ReadyOp handle(OpId op, MicrobatchRange mbs) const;
  [[nodiscard]] MicrobatchRange natural_range(OpId op, std::uint32_t mb) const;
  [[nodiscard]] std::optional<MicrobatchRange> range_to_offer(OpId op, std::uint32_t mb) const;
  [[nodiscard]] LaneId lane_of(const ExecuteOptions& options, ScheduledStep& step);
  [[nodiscard]] std::vector<ScheduledStep> one_step_per_op(const std::vector<ReadyOp>& ops,
                                                           const ScheduledStep& like) const;
  [[nodiscard]] ScheduledStep fuse(const std::vector<ScheduledStep>& steps,
                                   std::uint32_t replacement);
  StepId append(ScheduledStep step);
  void count_query();
  void mark_issued(OpId op, std::uint32_t mb);
  void release(const Dependency& successor, std::uint32_t mb);
  [[nodiscard]] MicrobatchRange reach(const Dependency& successor, std::uint32_t mb) const;
  std::uint32_t initial_pending(OpId op) const;
  bool issue(const ScheduledStep& step);

  const Graph& graph_;
  const Split& split_;
  std::uint64_t recording_;
  Schedule schedule_;
  std::vector<std::uint32_t> pending_;          ///< per (op, micro-batch): unissued predecessors
  std::vector<std::uint8_t> issued_;            ///< per (op, micro-batch)
  std::vector<MicrobatchRange> issued_with_;    ///< per (op, micro-batch): the step's range
  std::vector<std::set<std::uint32_t>> ready_;  ///< per micro-batch, op indices
  std::size_t remaining_ = 0;                   ///< (op, micro-batch) pairs not issued
  std::uint64_t idle_queries_ = 0;
  bool stopped_ = false;  ///< by S9
};

}  // namespace dynaflow
