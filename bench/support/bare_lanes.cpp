#include "support/bare_lanes.h"

#include "dynaflow/device/cpu/spin.h"

namespace dynaflow::bench {

BareLanes::BareLanes(const StepCalls& calls) : calls_(calls), other_([this] { serve(); }) {}

BareLanes::~BareLanes() {
  runs_ = kQuit;
  runs_.notify_one();
  other_.join();
}

void BareLanes::run() {
  turn_ = 0;
  ++runs_;
  runs_.notify_one();
  take_turns(0);
  while (turn_.load(std::memory_order_acquire) != calls_.count()) pause_core();
}

void BareLanes::serve() {
  for (std::uint32_t run = 0;; ++run) {
    runs_.wait(run);
    if (runs_ == kQuit) return;
    take_turns(1);
  }
}

void BareLanes::take_turns(std::uint32_t lane) {
  for (std::uint32_t step = lane; step < calls_.count(); step += 2) {
    while (turn_.load(std::memory_order_acquire) != step) pause_core();
    calls_.call(step);
    turn_.store(step + 1, std::memory_order_release);
  }
}

}  // namespace dynaflow::bench
