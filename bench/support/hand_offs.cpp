#include "support/hand_offs.h"

#include <algorithm>

#include "support/rounds.h"

namespace dynaflow::bench {

StepCalls HandOffs::make_calls() {
  return {graph_, [this](std::uint32_t step) -> Kernel {
            return [this, step](const KernelArgs& /*args*/) {
              threads_[step] = std::this_thread::get_id();
            };
          }};
}

double HandOffs::count(const std::function<void()>& run) const {
  constexpr int kRuns = 21;
  std::vector<double> counts;
  for (int i = 0; i < kRuns; ++i) {
    run();
    counts.push_back(count_last_run());
  }
  return spread_of(std::move(counts)).median;
}

double HandOffs::count_last_run() const {
  int handed = 0;
  for (std::size_t step = 0; step < threads_.size(); ++step) {
    const auto elsewhere = [&](std::uint32_t before) { return threads_[before] != threads_[step]; };
    if (std::ranges::any_of(graph_.steps[step].after, elsewhere)) ++handed;
  }
  return handed;
}

}  // namespace dynaflow::bench
