// An arbitrary strategy, spelled by the fuzzer's bytes: it may execute anything, anywhere, any
// number of times. Either the verifier refuses what it did, or the program it makes is right.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "bytes.h"
#include "dynaflow/dynaflow.h"
#include "support/memory_image.h"
#include "support/random_graph.h"
#include "support/random_strategy.h"

namespace dynaflow::testing {
namespace {

class SpelledStrategy final : public OpScheduler {
 public:
  SpelledStrategy(const Graph& graph, Bytes& bytes) : graph_(graph), bytes_(bytes) {}

  [[nodiscard]] std::string_view name() const override { return "SpelledStrategy"; }
  [[nodiscard]] Split split(const Batch& batch) const override { return batch.even(3); }

  void schedule(ScheduleContext& ctx) const override {
    std::vector<Lane> lanes{ctx.lane("a"), ctx.lane("b"), Lane()};
    std::vector<ReadyOp> seen{ReadyOp()};
    std::vector<IssuedStep> steps{IssuedStep()};
    while (!bytes_.done()) {
      for (const ReadyOp& op : ctx.get_ready_ops()) seen.push_back(op);
      std::vector<ReadyOp> chosen;
      const std::uint8_t how = bytes_.next();
      for (int i = 0; i < 1 + how % 4; ++i) chosen.push_back(seen[choose(seen.size())]);
      if ((how & 64) != 0 && !ctx.get_ready_ops(Microbatch{bytes_.next()}).empty()) {
        chosen = {seen.back()};
      }
      ExecuteOptions options{.lane = lanes[bytes_.below(lanes.size())]};
      if ((how & 16) != 0) options.after.push_back(steps[bytes_.below(steps.size())]);
      if ((how & 32) != 0) options.replace_func = replacement(chosen);
      steps.push_back(ctx.execute(chosen, std::move(options)));
    }
    while (ctx.unfinished()) ctx.execute(ctx.get_ready_ops().at(0), {.lane = lanes[0]});
  }

 private:
  /// Mostly a recent handle, so that the fuzzer finds legal schedules too.
  [[nodiscard]] std::size_t choose(std::size_t count) const {
    const std::size_t back = bytes_.below(2 * count);
    return back < count ? count - 1 - back : count - 1 - (back - count) / 4;
  }

  [[nodiscard]] Replacement replacement(const std::vector<ReadyOp>& ops) const {
    std::vector<OpId> ids;
    for (const ReadyOp& op : ops) {
      if (op.id().valid() && std::ranges::find(ids, op.id()) == ids.end()) ids.push_back(op.id());
    }
    std::ranges::sort(ids);
    Replacement fused = fuse(graph_, ids);
    if (bytes_.next() % 8 == 0 && !fused.outputs.empty()) fused.outputs[0].elements += 1;
    return fused;
  }

  const Graph& graph_;
  Bytes& bytes_;
};

bool touches_unplaced(const Graph& graph) {
  for (const Storage& storage : graph.storages()) {
    if (storage.memory == Memory::kUnplaced) return true;
  }
  return false;
}

void try_one(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  Random random(bytes.next());
  const RandomGraph made = random_graph(random, 2 + static_cast<int>(bytes.below(5)));
  if (touches_unplaced(made.graph)) return;  // the test's fused kernels do not know them
  const std::int64_t rows = bytes.below(8);
  const SpelledStrategy strategy(made.graph, bytes);
  const Split split = strategy.split({.rows = rows});
  const auto placed = make_placed_plan(std::make_shared<const Graph>(made.graph), strategy, split);
  if (!placed) {
    // Refused: by a rule about the schedule, never by one about our own planning.
    for (const Diagnostic& finding : placed.error().findings) {
      require(finding.rule.id.starts_with("S"), to_string(finding));
    }
    return;
  }
  static CpuDevice device;
  auto program = Program::make(*placed, device, split, made.symbols);
  require(program.has_value(), "a verified plan could not be bound");
  const Outcome expected = reference_run(made, rows, 1);
  Outcome got{MemoryImage(made, rows, 1),
              World(made.graph.states().size(), made.graph.ops().size(), rows)};
  made.world->world = &got.world;
  require(program->run(got.memory.bindings(made.graph)).has_value(), "a verified program failed");
  require(got == expected, "a verified program was wrong");
}

}  // namespace
}  // namespace dynaflow::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dynaflow::testing::try_one(data, size);
  return 0;
}
