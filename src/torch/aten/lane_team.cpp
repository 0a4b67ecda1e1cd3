#include "torch/aten/lane_team.h"

#include <ATen/Parallel.h>
#include <omp.h>

#include <algorithm>

// torch's libraries hold MKL, where they were built with it, without its headers. It keeps a number
// of its own per thread and does not ask OpenMP for one.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" [[gnu::weak]] int MKL_Set_Num_Threads_Local(int threads);

namespace dynaflow::aten {
namespace {

/// PyTorch sets a thread's team at its first use, so let it do so before we do.
void let_torch_begin() {
  thread_local const bool kBegun = (at::get_num_threads(), true);
  static_cast<void>(kBegun);
}

/// Returns what the thread had.
int set_blas_team(int threads) {
  return MKL_Set_Num_Threads_Local == nullptr ? threads : MKL_Set_Num_Threads_Local(threads);
}

}  // namespace

LaneTeam::LaneTeam(int cores) : team_(std::max(cores, 1)) {
  if (cores < 0) return;
  let_torch_begin();
  before_ = Before{omp_get_max_threads(), set_blas_team(team_)};
  if (before_->openmp != team_) omp_set_num_threads(team_);
}

LaneTeam::~LaneTeam() {
  if (!before_) return;
  if (before_->openmp != team_) omp_set_num_threads(before_->openmp);
  if (before_->blas != team_) set_blas_team(before_->blas);
}

}  // namespace dynaflow::aten
