#pragma once

#include <cstdint>
#include <memory>
#include <thread>

#include "dynaflow/device/cpu/active_launch.h"

namespace dynaflow {

/// The persistent thread of one lane. Runs its lane of the launch in progress each time it is
/// woken, on the cores that the lane was granted, and between launches spins a little before it
/// sleeps. A thread whose step does not return is left behind when this object goes.
class LaneThread {
 public:
  /// Throws std::system_error when the system gives no thread.
  LaneThread(std::shared_ptr<ActiveLaunch> launch, std::uint32_t lane);
  ~LaneThread();
  LaneThread(const LaneThread&) = delete;
  LaneThread& operator=(const LaneThread&) = delete;

  /// Once per launch, after ActiveLaunch::begin.
  void wake();

 private:
  class Mailbox;

  static void serve(Mailbox& mailbox, ActiveLaunch& launch, std::uint32_t lane);

  std::shared_ptr<ActiveLaunch> launch_;
  std::uint32_t lane_;
  std::shared_ptr<Mailbox> mailbox_;
  std::thread thread_;
};

}  // namespace dynaflow
