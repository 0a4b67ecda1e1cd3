#include "dynaflow/strategies/strategies.h"

#include <algorithm>
#include <string>
#include <vector>

namespace dynaflow {

Split Sequential::split(const Batch& batch) const { return batch.even(parts_); }

void Sequential::schedule(ScheduleContext& ctx) const {
  while (ctx.unfinished()) {
    for (const Microbatch mb : ctx.microbatches()) {
      for (auto ready = ctx.get_ready_ops(mb); !ready.empty(); ready = ctx.get_ready_ops(mb)) {
        ctx.execute(ready.front());
      }
    }
  }
}

Split Leapfrog::split(const Batch& batch) const { return batch.even(parts_); }

void Leapfrog::schedule(ScheduleContext& ctx) const {
  const Lane compute = ctx.lane("compute");
  const Lane network = ctx.lane("network", Share{.cores = 0});
  while (ctx.unfinished()) {
    for (const Microbatch mb : ctx.microbatches()) {
      const auto ready = ctx.get_ready_ops(mb);
      if (ready.empty()) continue;
      ctx.execute(ready.front(), {.lane = ready.front().has_tag("network") ? network : compute});
    }
  }
}

Split Branches::split(const Batch& batch) const { return batch.even(parts_); }

void Branches::schedule(ScheduleContext& ctx) const {
  std::vector<Lane> lanes;
  for (int i = 0; i < lanes_; ++i) lanes.push_back(ctx.lane("branch" + std::to_string(i)));
  while (ctx.unfinished()) {
    // Each round takes what is ready now: as many independent ops as there are, dealt out in turn.
    const auto ready = ctx.get_ready_ops();
    for (std::size_t i = 0; i < ready.size(); ++i) {
      ctx.execute(ready[i], {.lane = lanes[i % lanes.size()]});
    }
  }
}

}  // namespace dynaflow
