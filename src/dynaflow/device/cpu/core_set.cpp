#include "dynaflow/device/cpu/core_set.h"

#include <algorithm>

namespace dynaflow {

CoreSet::CoreSet(std::span<const int> cores) : CoreSet() {
  for (const int core : cores) CPU_SET(static_cast<std::size_t>(core), &set_);
}

CoreSet CoreSet::of_this_thread() {
  CoreSet found;
  sched_getaffinity(0, sizeof(found.set_), &found.set_);
  return found;
}

void CoreSet::pin_this_thread() const { sched_setaffinity(0, sizeof(set_), &set_); }

std::vector<int> CoreSet::cores() const {
  std::vector<int> all;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<std::size_t>(core), &set_)) all.push_back(core);
  }
  return all;
}

PinnedScope::PinnedScope(const CoreSet& cores)
    : before_(CoreSet::of_this_thread()), during_(cores.count() == 0 ? before_ : cores) {
  if (before_ != during_) during_.pin_this_thread();
}

PinnedScope::~PinnedScope() {
  if (before_ != during_) before_.pin_this_thread();
}

namespace {

/// The cores not yet given away, and what to fall back on when none is left.
class CorePool {
 public:
  explicit CorePool(std::span<const int> cores) : all_(cores), left_(cores) {}

  [[nodiscard]] std::size_t left() const { return left_.size(); }

  /// From here on share only what is left, so that cores given away stay undisturbed if they can.
  void keep_to_the_rest() {
    if (!left_.empty()) all_ = left_;
  }

  /// Up to `wanted` cores that nobody else has; when there is none, one that is shared.
  std::vector<int> take(std::size_t wanted) {
    if (left_.empty()) return share_one();
    const auto taken = left_.first(std::min(wanted, left_.size()));
    left_ = left_.subspan(taken.size());
    return {taken.begin(), taken.end()};
  }

 private:
  std::vector<int> share_one() {
    if (all_.empty()) return {};
    return {all_[shared_++ % all_.size()]};
  }

  std::span<const int> all_;
  std::span<const int> left_;
  std::size_t shared_ = 0;
};

bool wants_equal_part(const Share& share) { return share.cores < 0; }

void grant_numbers(CorePool& pool, std::vector<LaneGrant>& grants) {
  for (LaneGrant& lane : grants) {
    const int wanted = lane.requested.cores;
    if (wanted > 0) lane.cores = pool.take(static_cast<std::size_t>(wanted));
  }
}

/// Each takes its part of what is left at its turn, so parts differ by one core at most; with
/// fewer cores than lanes, one each round and round.
void grant_equal_parts(CorePool& pool, std::vector<LaneGrant>& grants) {
  auto lanes_left =
      static_cast<std::size_t>(std::count_if(grants.begin(), grants.end(), [](const LaneGrant& g) {
        return wants_equal_part(g.requested);
      }));
  for (LaneGrant& lane : grants) {
    if (!wants_equal_part(lane.requested)) continue;
    lane.cores = pool.take((pool.left() + lanes_left - 1) / lanes_left);
    --lanes_left;
  }
}

}  // namespace

std::vector<LaneGrant> grant_cores(std::span<const int> cores, std::span<const LaneRequest> lanes) {
  std::vector<LaneGrant> grants;
  for (const LaneRequest& lane : lanes) grants.push_back({lane.name, lane.share, {}});
  CorePool pool(cores);
  grant_numbers(pool, grants);
  pool.keep_to_the_rest();
  grant_equal_parts(pool, grants);
  for (LaneGrant& lane : grants) {
    if (lane.requested.cores == 0) lane.cores.assign(cores.begin(), cores.end());
  }
  return grants;
}

}  // namespace dynaflow
