#include "dynaflow/placement/buffers.h"

#include <algorithm>
#include <limits>

namespace dynaflow {
namespace {

/// Beyond this many conflicts per buffer, and in all, finding and packing by pairs costs more time
/// than it saves memory.
constexpr std::size_t kPairsPerBuffer = 256;
constexpr std::size_t kFewPairs = std::size_t{1} << 21;
constexpr std::uint32_t kRarely = 64;

/// When a buffer is in use, as counts per lane: all its steps start knowing at least `begin`, and
/// all are complete once `end` is known.
class Lifetimes {
 public:
  Lifetimes(std::size_t buffers, std::size_t lanes)
      : lanes_(lanes),
        begin_(buffers * lanes, std::numeric_limits<std::uint32_t>::max()),
        end_(buffers * lanes, 0) {}

  void use(BufferId buffer, const Step& step, std::span<const std::uint32_t> known) {
    for (std::size_t lane = 0; lane < lanes_; ++lane) {
      std::uint32_t& begin = begin_[buffer.index * lanes_ + lane];
      begin = std::min(begin, known[lane]);
    }
    std::uint32_t& end = end_[buffer.index * lanes_ + step.lane.index];
    end = std::max(end, step.position + 1);
  }

  [[nodiscard]] bool before(BufferId earlier, BufferId later) const {
    return ended_by(earlier, std::span(begin_).subspan(later.index * lanes_, lanes_));
  }
  [[nodiscard]] bool ended_by(BufferId buffer, std::span<const std::uint32_t> known) const {
    for (std::size_t lane = 0; lane < lanes_; ++lane) {
      if (end_[buffer.index * lanes_ + lane] > known[lane]) return false;
    }
    return true;
  }

 private:
  std::size_t lanes_;
  std::vector<std::uint32_t> begin_;
  std::vector<std::uint32_t> end_;
};

/// What every step that is still to come will know: buffers that ended by then are out of play.
class Floor {
 public:
  Floor(const Plan& plan, const HappensBefore& hb)
      : plan_(plan), hb_(hb), next_(plan.lanes.size(), 0), known_(plan.lanes.size(), 0) {
    update();
  }
  void pass(const Step& step) {
    ++next_[step.lane.index];
    update();
  }
  [[nodiscard]] std::span<const std::uint32_t> known() const { return known_; }

 private:
  void update() {
    std::ranges::fill(known_, std::numeric_limits<std::uint32_t>::max());
    for (std::size_t lane = 0; lane < next_.size(); ++lane) {
      if (next_[lane] >= plan_.lane_steps[lane].size()) continue;
      const auto known = hb_.known_at(plan_.lane_steps[lane][next_[lane]]);
      for (std::size_t i = 0; i < known_.size(); ++i) known_[i] = std::min(known_[i], known[i]);
    }
  }

  const Plan& plan_;
  const HappensBefore& hb_;
  std::vector<std::uint32_t> next_;
  std::vector<std::uint32_t> known_;
};

class Maker {
 public:
  Maker(const Graph& graph, const Plan& plan, const HappensBefore& hb)
      : graph_(graph), plan_(plan), hb_(hb), mbs_(plan.microbatches()) {}

  Buffers run() {
    join_microbatches();
    name_buffers();
    find_conflicts();
    return std::move(buffers_);
  }

 private:
  [[nodiscard]] StorageId storage_of(const Operand& operand) const {
    return graph_.value(operand.value).storage;
  }

  /// Micro-batches that some step sees together must be neighbours in one buffer.
  void join_microbatches() {
    joined_.assign(graph_.storages().size() * mbs_, 0);
    for (std::size_t i = 0; i < graph_.storages().size(); ++i) {
      const Storage& storage = graph_.storages()[i];
      const bool callers = storage.memory == Memory::kInput || storage.memory == Memory::kOutput;
      if (callers || storage.kind != Kind::kSplit) {
        std::fill_n(joined_.begin() + static_cast<std::ptrdiff_t>(i * mbs_), mbs_, std::uint8_t{1});
      }
    }
    for (const Step& step : plan_.steps) {
      if (step.microbatches.count() == 1) continue;
      for (const Operand& operand : plan_.operands(step)) {
        for (std::uint32_t mb = step.microbatches.first; mb + 1 < step.microbatches.last; ++mb) {
          joined_[std::size_t{storage_of(operand).index} * mbs_ + mb] = 1;
        }
      }
    }
  }

  [[nodiscard]] MicrobatchRange component(StorageId storage, std::uint32_t mb) const {
    const std::uint8_t* joined = joined_.data() + std::size_t{storage.index} * mbs_;
    MicrobatchRange range{mb, mb + 1};
    while (range.first > 0 && joined[range.first - 1] != 0) --range.first;
    while (range.last < mbs_ && joined[range.last - 1] != 0) ++range.last;
    return range;
  }

  void name_buffers() {
    buffers_.of_operand.resize(plan_.step_operands.size());
    buffers_.scratch.resize(plan_.steps.size());
    std::vector<BufferId> known(graph_.storages().size() * mbs_);
    for (const StepId id : hb_.order()) {
      const Step& step = plan_.steps[id.index];
      for (std::uint32_t i = 0; i < step.operands.count; ++i) {
        const StorageId storage = storage_of(plan_.step_operands[step.operands.first + i]);
        BufferId& buffer = known[std::size_t{storage.index} * mbs_ + step.microbatches.first];
        if (!buffer.valid()) {
          const MicrobatchRange range = component(storage, step.microbatches.first);
          buffer = id_at<BufferId>(buffers_.items.size());
          for (const Microbatch mb : range)
            known[std::size_t{storage.index} * mbs_ + mb.index] = buffer;
          buffers_.items.push_back({storage, range, {}});
          if (graph_.storage(storage).memory == Memory::kArena) buffers_.arena.push_back(buffer);
        }
        buffers_.of_operand[step.operands.first + i] = buffer;
      }
      if (body_of(graph_, plan_, step) != nullptr) add_scratch(id);
    }
  }

  /// How much it is depends on sizes: it may be nothing.
  void add_scratch(StepId step) {
    const auto buffer = id_at<BufferId>(buffers_.items.size());
    buffers_.items.push_back({{}, plan_.steps[step.index].microbatches, step});
    buffers_.arena.push_back(buffer);
    buffers_.scratch[step.index] = buffer;
  }

  void find_conflicts() {
    Lifetimes lives(buffers_.items.size(), plan_.lanes.size());
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      const Step& step = plan_.steps[i];
      for (std::uint32_t k = 0; k < step.operands.count; ++k) {
        lives.use(buffers_.of_operand[step.operands.first + k], step,
                  hb_.known_at(id_at<StepId>(i)));
      }
      if (buffers_.scratch[i].valid()) {
        lives.use(buffers_.scratch[i], step, hb_.known_at(id_at<StepId>(i)));
      }
    }
    Floor floor(plan_, hb_);
    std::vector<std::uint32_t> active;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
    buffers_.retired.assign(buffers_.arena.size(),
                            static_cast<std::uint32_t>(buffers_.arena.size()));
    const std::size_t most_pairs = std::max(kFewPairs, kPairsPerBuffer * buffers_.arena.size());
    std::uint32_t next = 0;
    for (const StepId id : hb_.order()) {
      const Step& step = plan_.steps[id.index];
      for (; next < buffers_.arena.size() && begins_at(next, id); ++next) {
        const BufferId fresh = buffers_.arena[next];
        const bool exact = pairs.size() <= most_pairs;
        // Looking through all that is active pays only now and then, where that is a lot.
        if (exact || next % kRarely == 0) retire(active, lives, floor, next);
        for (std::size_t i = 0; exact && i < active.size(); ++i) {
          const std::uint32_t other = active[i];
          if (!lives.before(buffers_.arena[other], fresh)) pairs.emplace_back(other, next);
        }
        active.push_back(next);
      }
      floor.pass(step);
    }
    if (pairs.size() > most_pairs) return;  // `retired` it is
    buffers_.retired.clear();
    index(pairs);
  }

  void retire(std::vector<std::uint32_t>& active, const Lifetimes& lives, const Floor& floor,
              std::uint32_t next) {
    std::erase_if(active, [&](std::uint32_t other) {
      if (!lives.ended_by(buffers_.arena[other], floor.known())) return false;
      buffers_.retired[other] = next;
      return true;
    });
  }

  [[nodiscard]] bool begins_at(std::uint32_t arena_index, StepId id) const {
    if (buffers_.scratch[id.index] == buffers_.arena[arena_index]) return true;
    const Step& step = plan_.steps[id.index];
    const auto of_step =
        std::span(buffers_.of_operand).subspan(step.operands.first, step.operands.count);
    return std::ranges::find(of_step, buffers_.arena[arena_index]) != of_step.end();
  }

  void index(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs) {
    auto& starts = buffers_.conflict_starts;
    starts.assign(buffers_.arena.size() + 1, 0);
    for (const auto& [a, b] : pairs) {
      ++starts[a + 1];
      ++starts[b + 1];
    }
    for (std::size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
    buffers_.conflicts.resize(pairs.size() * 2);
    std::vector<std::uint32_t> fill(starts.begin(), starts.end() - 1);
    for (const auto& [a, b] : pairs) {
      buffers_.conflicts[fill[a]++] = b;
      buffers_.conflicts[fill[b]++] = a;
    }
  }

  const Graph& graph_;
  const Plan& plan_;
  const HappensBefore& hb_;
  std::uint32_t mbs_;
  std::vector<std::uint8_t> joined_;  ///< per storage and micro-batch: joined with the next one
  Buffers buffers_;
};

}  // namespace

bool in_arena(const Graph& graph, const Buffer& buffer) {
  return buffer.is_scratch() || graph.storage(buffer.storage).memory == Memory::kArena;
}

Buffers make_buffers(const Graph& graph, const Plan& plan, const HappensBefore& hb) {
  return Maker(graph, plan, hb).run();
}

}  // namespace dynaflow
