#include "dynaflow/strategies/comm_overlap.h"

namespace dynaflow {

Split CommOverlap::split(const Batch& batch) const {
  if (!costs_) return batch.even(parts_);
  const std::optional<int> parts = costs_->best_parts(batch.rows, parts_);
  return parts ? batch.even(*parts) : batch.whole();
}

void CommOverlap::schedule(ScheduleContext& ctx) const {
  const Lane compute = ctx.lane("compute");
  const Share none{.cores = 0};
  const Lane even = ctx.lane("network", none);
  const Lane odd = ctx.microbatches().count() > 1 ? ctx.lane("network2", none) : even;
  while (ctx.unfinished()) {
    for (const Microbatch mb : ctx.microbatches()) {
      const Lane network = mb.index % 2 == 0 ? even : odd;
      // Up to its next transfer; while that is on the wire, it is the others' turn.
      bool transfers = false;
      for (auto op = ctx.first_ready_op(mb); op && !transfers; op = ctx.first_ready_op(mb)) {
        transfers = op->has_tag("network") || !op->group().empty();
        ctx.execute(*op, {.lane = transfers ? network : compute});
      }
    }
  }
}

}  // namespace dynaflow
