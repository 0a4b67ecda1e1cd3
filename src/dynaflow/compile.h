#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "dynaflow/base/lru_cache.h"
#include "dynaflow/runtime/program.h"
#include "dynaflow/schedule/op_scheduler.h"

namespace dynaflow {

/// How much a CompiledGraph remembers. All caches are bounded: the least recently used goes first.
struct CompileOptions {
  std::size_t splits = 256;   ///< batches whose split is known
  std::size_t plans = 32;     ///< recorded and verified
  std::size_t programs = 32;  ///< plans bound to sizes
};

/// How often the stages ran: in steady state, none of them moves.
struct CompileStats {
  std::uint64_t splits = 0;
  std::uint64_t recordings = 0;
  std::uint64_t bindings = 0;
};

/// What one Program is bound to.
struct ProgramSizes {
  Split split;
  std::vector<std::int64_t> symbols;

  friend auto operator<=>(const ProgramSizes&, const ProgramSizes&) = default;
};

/// Graph -> Schedule -> Plan, each verified: all that does not depend on sizes.
[[nodiscard]] Result<std::shared_ptr<const PlacedPlan>> make_placed_plan(
    std::shared_ptr<const Graph> graph, const OpScheduler& scheduler, const Split& split);

/// A graph under a strategy on a device. Records a plan when a batch needs one, binds it to the
/// batch's sizes, and from then on only runs it. Thread-safe: one run at a time.
class CompiledGraph {
 public:
  /// `device` must outlive it.
  CompiledGraph(Graph graph, std::shared_ptr<const OpScheduler> scheduler, Device& device,
                CompileOptions options = {});

  [[nodiscard]] Result<Stats> run(const Batch& batch, std::span<const Binding> bindings,
                                  const RunOptions& options = {});

  /// The Program that `run` would use for this batch, to run it, or to look at its plan, lanes and
  /// timeline. It must not outlive the device.
  [[nodiscard]] Result<std::shared_ptr<Program>> program(const Batch& batch);

  /// How the strategy splits this batch, verified and remembered.
  [[nodiscard]] Result<Split> split(const Batch& batch);

  [[nodiscard]] const Graph& graph() const { return *graph_; }
  [[nodiscard]] CompileStats stats() const;

 private:
  [[nodiscard]] std::optional<Error> reentry() const;
  [[nodiscard]] Result<const ProgramSizes*> sizes(const Batch& batch);
  [[nodiscard]] Result<std::shared_ptr<const PlacedPlan>> plan(const Split& split);

  std::shared_ptr<const Graph> graph_;
  std::shared_ptr<const OpScheduler> scheduler_;
  CompileOptions options_;
  std::shared_ptr<Arena> arena_;

  std::atomic<std::thread::id> planning_;  ///< who holds mutex_, for re-entry from a strategy
  std::mutex mutex_;                       ///< guards what follows
  LruCache<Batch, ProgramSizes> splits_;
  std::deque<std::shared_ptr<const PlacedPlan>> plans_;  ///< newest first
  LruCache<ProgramSizes, std::shared_ptr<Program>> programs_;

  std::atomic<std::uint64_t> splits_made_{0};
  std::atomic<std::uint64_t> recordings_{0};
  std::atomic<std::uint64_t> bindings_{0};
};

}  // namespace dynaflow
