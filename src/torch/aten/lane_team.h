#pragma once

namespace dynaflow::aten {

/// How many threads the calling thread's kernels use: as many as the lane has cores. Zero cores (a
/// lane that mostly waits) means one thread. What the thread had before comes back with the
/// destructor, since the first lane is the caller's own thread.
class LaneTeam {
 public:
  explicit LaneTeam(int cores);
  ~LaneTeam();
  LaneTeam(const LaneTeam&) = delete;
  LaneTeam& operator=(const LaneTeam&) = delete;

 private:
  int before_ = 0;
};

}  // namespace dynaflow::aten
