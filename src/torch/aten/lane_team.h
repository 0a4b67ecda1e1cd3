#pragma once

#include <optional>

namespace dynaflow::aten {

/// How many threads the calling thread's kernels use: as many as the lane has cores. Zero cores (a
/// lane that mostly waits) means one thread, a negative number what the thread has anyway. What it
/// had before comes back with the destructor, since the first lane is the caller's own thread.
///
/// It is more than a matter of speed: a second team of threads in one process makes OpenMP stop
/// spinning everywhere, and the caller's own kernels take several times as long from then on.
class LaneTeam {
 public:
  explicit LaneTeam(int cores);
  ~LaneTeam();
  LaneTeam(const LaneTeam&) = delete;
  LaneTeam& operator=(const LaneTeam&) = delete;

 private:
  struct Before {
    int openmp;
    int blas;  ///< zero: as many as OpenMP has
  };

  int team_;
  std::optional<Before> before_;
};

}  // namespace dynaflow::aten
