// Transfers of a group are issued as they were recorded, on whichever lanes, and may be on their
// way together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "dynaflow/dynaflow.h"
#include "runtime/prepared.h"
#include "support/counting_body.h"
#include "support/findings.h"
#include "support/queue_device.h"
#include "support/scripted.h"

namespace dynaflow::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;

/// Takes and passes its turn itself.
class Transfer final : public CountingBody {
 public:
  using CountingBody::CountingBody;
  [[nodiscard]] bool passes_turn() const override { return true; }
};

/// x -> make -> send (group "tp") -> y.
Model sending(const Kernel& make, OpSpec send) {
  GraphBuilder builder("sending");
  const ValueId x = builder.input("x", kRow);
  const ValueId a = builder.value("a", kRow);
  const ValueId y = builder.value("y", kRow);
  builder.op({.name = "make", .reads = {x}, .writes = {a}, .kernel = make});
  send.reads = {a};
  send.writes = {y};
  send.group = "tp";
  builder.op(std::move(send));
  builder.output(y);
  return {builder.build().value(), x, y};
}

Model sending(const Kernel& make, const Kernel& transfer) {
  return sending(make, OpSpec{.name = "send", .body = std::make_shared<Transfer>(transfer)});
}

/// Every micro-batch on a lane of its own for each op; the last one's transfer is recorded first.
class LastFirst final : public OpScheduler {
 public:
  [[nodiscard]] std::string_view name() const override { return "LastFirst"; }
  [[nodiscard]] Split split(const Batch& batch) const override { return batch.even(2); }
  void schedule(ScheduleContext& ctx) const override {
    for (const char* op : {"make", "send"}) {
      for (std::uint32_t mb = ctx.microbatches().count(); mb-- > 0;) {
        ctx.execute(ready(ctx, op, mb), {.lane = ctx.lane(op + std::to_string(mb))});
      }
    }
  }
};

template <class DeviceUnderTest>
class TurnsOn : public ::testing::Test {
 protected:
  static Program prepared(const Model& model, const Split& split, Device& device) {
    return prepare(model.graph, LastFirst(), split, device).value();
  }
  DeviceUnderTest device;
};
using Devices = ::testing::Types<CpuDevice, QueueDevice>;
TYPED_TEST_SUITE(TurnsOn, Devices);

/// Names of steps, in the order in which they were issued.
class Log {
 public:
  void add(std::string_view name) {
    const std::scoped_lock lock(mutex_);
    names_.emplace_back(name);
  }
  std::vector<std::string> take() { return std::exchange(names_, {}); }

 private:
  std::mutex mutex_;
  std::vector<std::string> names_;
};

TYPED_TEST(TurnsOn, IssueAsRecordedWhoeverIsReadyFirst) {
  Log log;
  const Model model = sending(mix(1), [&](const KernelArgs& args) {
    args.turn->take();
    log.add(args.name);
    args.turn->pass();
    mix(2)(args);
  });
  const auto expected = plain_output(model, {.rows = 8});
  log.take();
  Program program = this->prepared(model, Split{{2, 2, 2, 2}}, this->device);
  for (int run = 0; run < 50; ++run) {
    EXPECT_EQ(run_rows(program, model, 8).value(), expected);
    ASSERT_THAT(log.take(), ElementsAre("send.3", "send.2", "send.1", "send.0"));
  }
}

TYPED_TEST(TurnsOn, AreKeptForTheWholeStepByKernelsThatKnowNothingOfThem) {
  Log log;
  std::atomic<int> inside = 0;
  const Model model = sending(mix(1), OpSpec{.name = "send", .kernel = [&](const KernelArgs& args) {
                                               EXPECT_EQ(args.turn, nullptr);
                                               EXPECT_EQ(++inside, 1);
                                               log.add(args.name);
                                               mix(2)(args);
                                               --inside;
                                             }});
  Program program = this->prepared(model, Split{{2, 2, 2}}, this->device);
  for (int run = 0; run < 50; ++run) {
    ASSERT_TRUE(run_rows(program, model, 6));
    ASSERT_THAT(log.take(), ElementsAre("send.2", "send.1", "send.0"));
  }
}

TYPED_TEST(TurnsOn, AllowTwoTransfersOnTheirWayTogether) {
  std::latch issued(2);
  const Model model = sending(mix(1), [&](const KernelArgs& args) {
    args.turn->take();
    args.turn->pass();
    issued.arrive_and_wait();  // a stall, if the other one had to wait for this one's end
    mix(2)(args);
  });
  Program program = this->prepared(model, Split{{2, 2}}, this->device);
  EXPECT_TRUE(run_rows(program, model, 4));
}

TYPED_TEST(TurnsOn, PassByATransferThatHasNothingToIssue) {
  const Model model = sending(mix(1), [](const KernelArgs& args) { mix(2)(args); });
  Program program = this->prepared(model, Split{{2, 2}}, this->device);
  EXPECT_EQ(run_rows(program, model, 4).value(), plain_output(model, {.rows = 4}));
}

/// make.1 does `what` while send.0 waits for the turn after send.1's, once.
template <class What>
Model waiting_for_a_turn(std::atomic<bool>& armed, std::latch& waits, What what) {
  return sending(
      [&armed, &waits, what](const KernelArgs& args) {
        if (args.name == "make.1" && armed.exchange(false)) {
          waits.wait();
          what();
        }
        mix(1)(args);
      },
      [&waits](const KernelArgs& args) {
        if (args.name == "send.0" && !waits.try_wait()) waits.count_down();
        args.turn->take();
        args.turn->pass();
        mix(2)(args);
      });
}

TYPED_TEST(TurnsOn, DoNotOutliveAFailure) {
  std::atomic<bool> armed = true;
  std::latch waits(1);
  const Model model =
      waiting_for_a_turn(armed, waits, [] { throw std::runtime_error("out of paper"); });
  Program program = this->prepared(model, Split{{2, 2}}, this->device);
  const auto failed = run_rows(program, model, 4);
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().findings,
              ElementsAre(AllOf(Broke(kBodyFailed), Says("out of paper"))));
  EXPECT_EQ(run_rows(program, model, 4).value(), plain_output(model, {.rows = 4}));
}

TYPED_TEST(TurnsOn, DoNotOutliveACancellation) {
  std::atomic<bool> armed = true;
  std::latch waits(1);
  const Model model = waiting_for_a_turn(armed, waits, [&] { this->device.cancel(); });
  Program program = this->prepared(model, Split{{2, 2}}, this->device);
  const auto cancelled = run_rows(program, model, 4);
  ASSERT_FALSE(cancelled);
  EXPECT_THAT(cancelled.error().findings, ElementsAre(Broke(kCancelled)));
  EXPECT_EQ(run_rows(program, model, 4).value(), plain_output(model, {.rows = 4}));
}

}  // namespace
}  // namespace dynaflow::testing
