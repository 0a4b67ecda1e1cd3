#include "dynaflow/placement/placement.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace dynaflow {
namespace {

constexpr std::int64_t kUnset = -1;

std::int64_t aligned(std::int64_t bytes) {
  constexpr std::int64_t kMask = Placement::kAlignment - 1;
  return (bytes + kMask) & ~kMask;
}

/// The rows of a storage that a range of micro-batches has; one row where there are no rows.
RowRange rows_of(const Storage& storage, const Placement& placement, MicrobatchRange mbs) {
  switch (storage.kind) {
    case Kind::kSplit:
      return placement.rows(mbs);
    case Kind::kCoupled:
      return {0, placement.row_starts.back()};
    case Kind::kWhole:
    case Kind::kPartial:
      break;
  }
  return {0, 1};
}

void set_sizes(const Graph& graph, const Buffers& buffers, const Split& split,
               Placement& placement) {
  placement.row_starts.assign(1, 0);
  for (const std::int64_t size : split.sizes) {
    placement.row_starts.push_back(placement.row_starts.back() + size);
  }
  placement.sizes.resize(buffers.items.size());
  for (std::size_t i = 0; i < buffers.items.size(); ++i) {
    const Buffer& buffer = buffers.items[i];
    const Storage& storage = graph.storage(buffer.storage);
    const bool unplaced = storage.memory == Memory::kUnplaced;
    placement.sizes[i] =
        unplaced ? 0 : rows_of(storage, placement, buffer.microbatches).count * storage.row_bytes;
  }
}

/// Arena buffers from the largest to the smallest, ties by first use.
std::vector<std::uint32_t> largest_first(const Buffers& buffers, const Placement& placement) {
  std::vector<std::uint32_t> order(buffers.arena.size());
  std::iota(order.begin(), order.end(), 0);
  const auto size = [&](std::uint32_t i) { return placement.sizes[buffers.arena[i].index]; };
  std::ranges::stable_sort(order,
                           [&](std::uint32_t a, std::uint32_t b) { return size(a) > size(b); });
  return order;
}

struct Interval {
  std::int64_t begin;
  std::int64_t end;
};

/// The lowest offset at which `bytes` fit between the sorted `taken` intervals.
std::int64_t first_gap(const std::vector<Interval>& taken, std::int64_t bytes) {
  std::int64_t at = 0;
  for (const Interval& interval : taken) {
    if (interval.begin - at >= bytes) return at;
    at = std::max(at, interval.end);
  }
  return at;
}

void pack_largest_first(const Buffers& buffers, Placement& placement) {
  placement.offsets.assign(buffers.items.size(), 0);
  for (const BufferId buffer : buffers.arena) placement.offsets[buffer.index] = kUnset;
  placement.arena_bytes = 0;
  std::vector<Interval> taken;
  for (const std::uint32_t i : largest_first(buffers, placement)) {
    const std::uint32_t buffer = buffers.arena[i].index;
    taken.clear();
    for (const std::uint32_t other : buffers.conflicts_of(i)) {
      const std::uint32_t placed = buffers.arena[other].index;
      const std::int64_t offset = placement.offsets[placed];
      if (offset != kUnset && placement.sizes[placed] > 0) {
        taken.push_back({offset, offset + aligned(placement.sizes[placed])});
      }
    }
    std::ranges::sort(taken, {}, &Interval::begin);
    placement.offsets[buffer] = first_gap(taken, aligned(placement.sizes[buffer]));
    placement.arena_bytes = std::max(placement.arena_bytes,
                                     placement.offsets[buffer] + aligned(placement.sizes[buffer]));
  }
}

/// Free bytes of an arena that grows at its end.
class FreeBytes {
 public:
  /// The smallest hole that fits, else fresh bytes.
  std::int64_t take(std::int64_t bytes) {
    auto best = holes_.end();
    for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
      if (hole->second < bytes || (best != holes_.end() && best->second <= hole->second)) continue;
      best = hole;
    }
    if (best == holes_.end()) return std::exchange(end_, end_ + bytes);
    const auto [begin, size] = *best;
    holes_.erase(best);
    if (size > bytes) holes_.emplace(begin + bytes, size - bytes);
    return begin;
  }

  void give_back(std::int64_t begin, std::int64_t bytes) {
    if (bytes == 0) return;
    auto hole = holes_.emplace(begin, bytes).first;
    const auto next = std::next(hole);
    if (next != holes_.end() && hole->first + hole->second == next->first) {
      hole->second += next->second;
      holes_.erase(next);
    }
    if (hole == holes_.begin()) return;
    const auto before = std::prev(hole);
    if (before->first + before->second != hole->first) return;
    before->second += hole->second;
    holes_.erase(hole);
  }

  [[nodiscard]] std::int64_t end() const { return end_; }

 private:
  std::map<std::int64_t, std::int64_t> holes_;  ///< begin -> bytes, never adjacent
  std::int64_t end_ = 0;
};

/// In order of first use, each in bytes that nobody can touch any more.
void pack_in_order(const Buffers& buffers, Placement& placement) {
  placement.offsets.assign(buffers.items.size(), 0);
  std::vector<std::vector<std::uint32_t>> over(buffers.arena.size() + 1);
  for (std::uint32_t i = 0; i < buffers.retired.size(); ++i) over[buffers.retired[i]].push_back(i);
  FreeBytes free;
  for (std::size_t i = 0; i < buffers.arena.size(); ++i) {
    for (const std::uint32_t gone : over[i]) {
      const std::uint32_t buffer = buffers.arena[gone].index;
      free.give_back(placement.offsets[buffer], aligned(placement.sizes[buffer]));
    }
    const std::uint32_t buffer = buffers.arena[i].index;
    placement.offsets[buffer] = free.take(aligned(placement.sizes[buffer]));
  }
  placement.arena_bytes = free.end();
}

void set_views(const Graph& graph, const Plan& plan, const Buffers& buffers, Placement& placement) {
  placement.views.resize(plan.step_operands.size());
  for (const Step& step : plan.steps) {
    for (std::uint32_t i = step.operands.first; i < step.operands.first + step.operands.count;
         ++i) {
      const Value& value = graph.value(plan.step_operands[i].value);
      const Storage& storage = graph.storage(value.storage);
      const RowRange rows = rows_of(storage, placement, step.microbatches);
      const Buffer& buffer = buffers.items[buffers.of_operand[i].index];
      const std::int64_t first = rows_of(storage, placement, buffer.microbatches).first;
      placement.views[i] = {(rows.first - first) * storage.row_bytes + value.offset, rows.count};
    }
  }
}

}  // namespace

Placement make_placement(const Graph& graph, const Plan& plan, const Buffers& buffers,
                         const Split& split) {
  Placement placement;
  make_placement(graph, plan, buffers, split, placement);
  return placement;
}

void make_placement(const Graph& graph, const Plan& plan, const Buffers& buffers,
                    const Split& split, Placement& placement) {
  set_sizes(graph, buffers, split, placement);
  if (buffers.retired.empty()) {
    pack_largest_first(buffers, placement);
  } else {
    pack_in_order(buffers, placement);
  }
  set_views(graph, plan, buffers, placement);
}

std::string to_string(const Placement& placement, const Buffers& buffers, const Graph& graph) {
  std::string text = "placement  " + std::to_string(buffers.arena.size()) +
                     (buffers.arena.size() == 1 ? " buffer in " : " buffers in ") +
                     std::to_string(placement.arena_bytes) + " bytes\n";
  for (const BufferId id : buffers.arena) {
    const Buffer& buffer = buffers.items[id.index];
    text +=
        "  " + graph.storage(buffer.storage).name + "." + std::to_string(buffer.microbatches.first);
    if (buffer.microbatches.count() > 1) {
      text += "-" + std::to_string(buffer.microbatches.last - 1);
    }
    text += "  " + std::to_string(placement.sizes[id.index]) + " bytes at " +
            std::to_string(placement.offsets[id.index]) + '\n';
  }
  return text;
}

}  // namespace dynaflow
