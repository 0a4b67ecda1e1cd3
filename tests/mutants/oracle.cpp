#include "mutants/oracle.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "support/mixing_kernel.h"

namespace dynaflow::testing {
namespace {

/// Any byte a step may touch: (space, address). Spaces: 0 the arena, then storages, then states.
using Byte = std::pair<std::size_t, std::int64_t>;

/// What a byte stands for in an operand: (storage, the byte's place in the whole value).
using Meaning = std::pair<std::uint32_t, std::int64_t>;

struct Footprint {
  std::map<Byte, std::set<Meaning>> reads;
  std::map<Byte, std::set<Meaning>> writes;
  bool out_of_bounds = false;
};

class Oracle {
 public:
  Oracle(const Subject& subject, std::int64_t rows, std::uint64_t seed, const Outcome& expected)
      : graph_(subject.random.graph),
        random_(subject.random),
        plan_(subject.plan),
        buffers_(subject.buffers),
        placement_(subject.placement),
        rows_(rows),
        seed_(seed),
        expected_(expected) {
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) footprints_.push_back(footprint(i));
  }

  Judgement run() {
    if (std::ranges::any_of(footprints_, &Footprint::out_of_bounds)) {
      return {Verdict::kOutOfBounds, 0};
    }
    find_reachable();
    if (any_unordered_conflict()) return {Verdict::kUnordered, 0};
    done_.assign(plan_.lanes.size(), 0);
    explore();
    if (stuck_) return {Verdict::kDeadlock, orders_};
    return {wrong_ ? Verdict::kWrongResult : Verdict::kHarmless, orders_};
  }

 private:
  [[nodiscard]] std::size_t space(const Storage& storage) const {
    const auto index = static_cast<std::size_t>(&storage - graph_.storages().data());
    return storage.memory == Memory::kArena ? 0 : 1 + index;
  }

  [[nodiscard]] Footprint footprint(std::size_t index) const {
    const Step& step = plan_.steps[index];
    Footprint print;
    add_scratch(index, print);
    for (std::uint32_t i = 0; i < step.operands.count; ++i) add_operand(step, i, print);
    for (const OpId op : plan_.ops(step)) {
      for (const Effect& effect : graph_.op(op).effects) add_effect(step, effect, print);
    }
    return print;
  }

  /// Bytes of the arena that mean something to this step only.
  void add_scratch(std::size_t step, Footprint& print) const {
    const BufferId buffer = buffers_.scratch[step];
    if (!buffer.valid()) return;
    const auto nobodys = static_cast<std::uint32_t>(graph_.resource_count() + 1 + step);
    for (std::int64_t b = 0; b < placement_.sizes[buffer.index]; ++b) {
      const std::int64_t address = placement_.offsets[buffer.index] + b;
      if (address < 0 || address >= placement_.arena_bytes) print.out_of_bounds = true;
      note(print, Access::kWrite, {0, address}, {nobodys, b});
    }
  }

  void add_operand(const Step& step, std::uint32_t operand, Footprint& print) const {
    const std::uint32_t at = step.operands.first + operand;
    const Value& value = graph_.value(plan_.step_operands[at].value);
    const Storage& storage = graph_.storage(value.storage);
    const Access access = plan_.step_operands[at].access;
    const std::int64_t first =
        storage.kind == Kind::kSplit ? placement_.row_starts[step.microbatches.first] : 0;
    if (storage.memory == Memory::kUnplaced) {
      for (std::int64_t mb = step.microbatches.first; mb < step.microbatches.last; ++mb) {
        note(print, access, {space(storage), mb}, {value.storage.index, mb});
      }
      return;
    }
    const std::uint32_t buffer = buffers_.of_operand[at].index;
    const std::int64_t limit =
        storage.memory == Memory::kArena ? placement_.arena_bytes : placement_.sizes[buffer];
    const PlacedView& view = placement_.views[at];
    const std::int64_t row_bytes = storage.row_bytes.evaluate(random_.symbols);
    const std::int64_t blocks = storage.blocks.evaluate(random_.symbols);
    for (std::int64_t row = 0; row < view.rows; ++row) {
      for (std::int64_t b = 0; b < value.type.bytes().evaluate(random_.symbols); ++b) {
        const std::int64_t in_block = row_bytes / blocks;
        const std::int64_t address = placement_.offsets[buffer] + view.offset + row * in_block +
                                     b / in_block * view.block_stride + b % in_block;
        if (address < 0 || address >= limit) print.out_of_bounds = true;
        note(print, access, {space(storage), address},
             {value.storage.index, (first + row) * row_bytes + value.offset + b});
      }
    }
  }

  void add_effect(const Step& step, const Effect& effect, Footprint& print) const {
    const std::size_t at = 1 + graph_.storages().size() + effect.state.index;
    const bool own = effect.rows == Rows::kOwn;
    const std::int64_t first = own ? placement_.row_starts[step.microbatches.first] : 0;
    const std::int64_t last = own ? placement_.row_starts[step.microbatches.last] : rows_;
    for (std::int64_t row = first; row < last; ++row) {
      note(print, effect.access, {at, row}, {static_cast<std::uint32_t>(at), row});
    }
  }

  static void note(Footprint& print, Access access, Byte byte, Meaning meaning) {
    if (access != Access::kWrite) print.reads[byte].insert(meaning);
    if (access != Access::kRead) print.writes[byte].insert(meaning);
  }

  /// Transitive closure of lane order and waits, on a handful of steps.
  void find_reachable() {
    const std::size_t n = plan_.steps.size();
    reaches_.assign(n, std::vector<char>(n, 0));
    for (const auto& lane : plan_.lane_steps) {
      for (std::size_t i = 1; i < lane.size(); ++i) reaches_[lane[i - 1].index][lane[i].index] = 1;
    }
    for (std::size_t i = 0; i < n; ++i) {
      for (const Wait& wait : plan_.waits(plan_.steps[i])) {
        for (std::uint32_t k = 0; k < wait.count; ++k) {
          reaches_[plan_.lane_steps[wait.lane][k].index][i] = 1;
        }
      }
    }
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          if (reaches_[i][k] != 0 && reaches_[k][j] != 0) reaches_[i][j] = 1;
        }
      }
    }
  }

  [[nodiscard]] static bool conflict(const Footprint& a, const Footprint& b) {
    return std::ranges::any_of(a.writes, [&](const auto& write) {
      return b.reads.contains(write.first) || b.writes.contains(write.first);
    });
  }

  /// Inside one step nothing is ordered: a byte it writes must mean one thing to all its operands.
  [[nodiscard]] static bool clashes_with_itself(const Footprint& print) {
    return std::ranges::any_of(print.writes, [&](const auto& write) {
      const auto read = print.reads.find(write.first);
      return write.second.size() > 1 || (read != print.reads.end() && read->second != write.second);
    });
  }

  [[nodiscard]] bool any_unordered_conflict() const {
    for (std::size_t i = 0; i < footprints_.size(); ++i) {
      if (clashes_with_itself(footprints_[i])) return true;
      for (std::size_t j = i + 1; j < footprints_.size(); ++j) {
        const bool ordered = reaches_[i][j] != 0 || reaches_[j][i] != 0;
        if (!ordered && (conflict(footprints_[i], footprints_[j]) ||
                         conflict(footprints_[j], footprints_[i]))) {
          return true;
        }
      }
    }
    return false;
  }

  /// Every way to interleave the lanes that the waits allow.
  void explore() {
    if (stuck_ || wrong_) return;
    bool finished = true;
    bool moved = false;
    for (std::size_t lane = 0; lane < done_.size(); ++lane) {
      if (done_[lane] == plan_.lane_steps[lane].size()) continue;
      finished = false;
      const StepId step = plan_.lane_steps[lane][done_[lane]];
      const auto met = [&](const Wait& wait) { return done_[wait.lane] >= wait.count; };
      if (!std::ranges::all_of(plan_.waits(plan_.steps[step.index]), met)) continue;
      if (!is_next_of_its_group(step)) continue;
      moved = true;
      ++done_[lane];
      order_.push_back(step);
      explore();
      order_.pop_back();
      --done_[lane];
    }
    if (finished) execute();
    if (!finished && !moved) stuck_ = true;
  }

  /// Transfers of a group are issued as recorded, so one that another one precedes cannot end
  /// before that one has begun.
  [[nodiscard]] bool is_next_of_its_group(StepId step) const {
    for (const OpId op : plan_.ops(plan_.steps[step.index])) {
      const std::string& group = graph_.op(op).group;
      for (std::uint32_t earlier = 0; !group.empty() && earlier < step.index; ++earlier) {
        const auto ops = plan_.ops(plan_.steps[earlier]);
        const bool same =
            std::ranges::any_of(ops, [&](OpId other) { return graph_.op(other).group == group; });
        if (same && std::ranges::find(order_, StepId{earlier}) == order_.end()) return false;
      }
    }
    return true;
  }

  class Heap final : public UnplacedMemory {
   public:
    explicit Heap(Oracle& oracle) : oracle_(oracle) {}
    void allocate(const View& shown, std::int64_t elements) override {
      View& view = const_cast<View&>(shown);  // NOLINT: one of our own
      auto& block = oracle_.blocks_[oracle_.buffer_of_view_.at(&view)];
      block.assign(static_cast<std::size_t>(elements), 0);
      view.data = reinterpret_cast<std::byte*>(block.data());
      view.rows = 1;
      view.elements = elements;
    }

   private:
    Oracle& oracle_;
  };

  void execute() {
    ++orders_;
    Outcome got{MemoryImage(random_, rows_, seed_),
                World(graph_.states().size(), graph_.ops().size(), rows_)};
    random_.world->world = &got.world;
    std::vector<std::uint64_t> arena(static_cast<std::size_t>(placement_.arena_bytes / 8));
    std::uint64_t garbage = seed_ + orders_;
    for (std::uint64_t& word : arena) word = garbage = mix(garbage, 23);
    blocks_.clear();
    Heap heap(*this);
    for (const StepId id : order_) execute(plan_.steps[id.index], got, arena, heap);
    if (!(got == expected_)) wrong_ = true;
  }

  void execute(const Step& step, Outcome& got, std::vector<std::uint64_t>& arena, Heap& heap) {
    std::vector<View> views(step.operands.count);
    buffer_of_view_.clear();
    for (std::uint32_t i = 0; i < step.operands.count; ++i) {
      const std::uint32_t at = step.operands.first + i;
      const Operand& operand = plan_.step_operands[at];
      const Value& value = graph_.value(operand.value);
      const Storage& storage = graph_.storage(value.storage);
      const std::uint32_t buffer = buffers_.of_operand[at].index;
      View& view = views[i];
      view = {nullptr,
              1,
              0,
              value.type.elements.evaluate(random_.symbols),
              value.type.dtype,
              operand.access == Access::kAccumulate ? PartialSum::kAdd : PartialSum::kStart};
      buffer_of_view_[&view] = buffer;
      if (storage.memory == Memory::kUnplaced) {
        auto& block = blocks_[buffer];
        view.data = block.empty() ? nullptr : reinterpret_cast<std::byte*>(block.data());
        view.elements = static_cast<std::int64_t>(block.size());
        continue;
      }
      auto& words =
          storage.memory == Memory::kArena ? arena : got.memory.words[value.storage.index];
      view.data = reinterpret_cast<std::byte*>(words.data()) + placement_.offsets[buffer] +
                  placement_.views[at].offset;
      view.rows = placement_.views[at].rows;
      view.blocks = storage.blocks.evaluate(random_.symbols);
      view.row_stride =
          storage.row_bytes.evaluate(random_.symbols) / std::max<std::int64_t>(view.blocks, 1);
      view.block_stride = placement_.views[at].block_stride;
    }
    KernelArgs args{.views = views,
                    .reads = step.reads,
                    .rows = placement_.rows(step.microbatches),
                    .memory = &heap,
                    .symbols = random_.symbols};
    const BufferId scratch = buffers_.scratch[static_cast<std::size_t>(&step - plan_.steps.data())];
    if (scratch.valid() && placement_.sizes[scratch.index] > 0) {
      args.scratch = {
          reinterpret_cast<std::byte*>(arena.data()) + placement_.offsets[scratch.index],
          static_cast<std::size_t>(placement_.sizes[scratch.index])};
    }
    if (step.replacement == kNoReplacement) {
      run_op(graph_.op(plan_.ops(step).front()), args);
    } else {
      plan_.replacements[step.replacement].kernel(args);
    }
  }

  const Graph& graph_;
  const RandomGraph& random_;
  const Plan& plan_;
  const Buffers& buffers_;
  const Placement& placement_;
  std::int64_t rows_;
  std::uint64_t seed_;
  const Outcome& expected_;

  std::vector<Footprint> footprints_;
  std::vector<std::vector<char>> reaches_;
  std::vector<std::uint32_t> done_;
  std::vector<StepId> order_;
  std::map<std::uint32_t, std::vector<std::uint64_t>> blocks_;
  std::map<const View*, std::uint32_t> buffer_of_view_;
  std::uint64_t orders_ = 0;
  bool stuck_ = false;
  bool wrong_ = false;
};

}  // namespace

std::string to_string(Verdict verdict) {
  constexpr const char* kNames[] = {"harmless", "deadlock", "unordered", "out of bounds",
                                    "wrong result"};
  return kNames[static_cast<std::size_t>(verdict)];
}

Judgement judge(const Subject& subject, std::int64_t rows, std::uint64_t seed,
                const Outcome& expected) {
  return Oracle(subject, rows, seed, expected).run();
}

}  // namespace dynaflow::testing
