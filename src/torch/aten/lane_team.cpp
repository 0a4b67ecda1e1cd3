#include "torch/aten/lane_team.h"

#include <ATen/Parallel.h>
#include <omp.h>

#include <algorithm>

namespace dynaflow::aten {
namespace {

/// PyTorch sets a thread's team at its first use, so let it do so before we do.
int current_team() {
  thread_local const bool kInitialised = (at::get_num_threads(), true);
  static_cast<void>(kInitialised);
  return omp_get_max_threads();
}

}  // namespace

LaneTeam::LaneTeam(int cores) {
  if (cores < 0) return;  // the thread runs alone: it keeps its team
  const int team = std::max(cores, 1);
  const int now = current_team();
  if (now == team) return;
  before_ = now;
  omp_set_num_threads(team);
}

LaneTeam::~LaneTeam() {
  if (before_ > 0) omp_set_num_threads(before_);
}

}  // namespace dynaflow::aten
