#include "dynaflow/strategies/strategies.h"

#include <string>
#include <vector>

namespace dynaflow {

Split Sequential::split(const Batch& batch) const {
  return parts_ == 1 ? batch.whole() : batch.even(parts_);
}

void Sequential::schedule(ScheduleContext& ctx) const {
  while (ctx.unfinished()) {
    for (const Microbatch mb : ctx.microbatches()) {
      while (const auto op = ctx.first_ready_op(mb)) ctx.execute(*op);
    }
  }
}

Split Leapfrog::split(const Batch& batch) const { return batch.even(parts_); }

void Leapfrog::schedule(ScheduleContext& ctx) const {
  const Lane compute = ctx.lane("compute");
  const Lane network = ctx.lane("network", Share{.cores = 0});
  while (ctx.unfinished()) {
    for (const Microbatch mb : ctx.microbatches()) {
      const auto op = ctx.first_ready_op(mb);
      if (!op) continue;
      const bool transfers = op->has_tag("network") || !op->group().empty();
      ctx.execute(*op, {.lane = transfers ? network : compute});
    }
  }
}

Split Branches::split(const Batch& batch) const { return batch.even(parts_); }

void Branches::schedule(ScheduleContext& ctx) const {
  std::vector<Lane> lanes;
  lanes.reserve(static_cast<std::size_t>(lanes_));
  for (int i = 0; i < lanes_; ++i) lanes.push_back(ctx.lane("branch" + std::to_string(i)));
  while (ctx.unfinished()) {
    // Each round takes what is ready now: as many independent ops as there are, dealt out in turn.
    std::size_t next = 0;
    for (const ReadyOp& op : ctx.get_ready_ops()) {
      // Collectives keep to one lane, whose order is then the same on every rank.
      ctx.execute(op, {.lane = op.group().empty() ? lanes[next++ % lanes.size()] : lanes[0]});
    }
  }
}

}  // namespace dynaflow
