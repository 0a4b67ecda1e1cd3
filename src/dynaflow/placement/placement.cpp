#include "dynaflow/placement/placement.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "dynaflow/placement/sizes.h"

namespace dynaflow {
namespace {

constexpr std::int64_t kUnset = -1;

std::int64_t aligned(std::int64_t bytes) {
  constexpr std::int64_t kMask = Placement::kAlignment - 1;
  return (bytes + kMask) & ~kMask;
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
    if (placement.sizes[buffer] == 0) {
      placement.offsets[buffer] = 0;
      continue;
    }
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

}  // namespace

Result<Placement> make_placement(const Graph& graph, const Plan& plan, const Buffers& buffers,
                                 const Split& split, std::span<const std::int64_t> symbols) {
  Placement placement;
  auto made = make_placement(graph, plan, buffers, split, symbols, placement);
  if (!made) return Unexpected(made.error());
  return placement;
}

Result<void> make_placement(const Graph& graph, const Plan& plan, const Buffers& buffers,
                            const Split& split, std::span<const std::int64_t> symbols,
                            Placement& placement) {
  if (auto sized = set_sizes(graph, plan, buffers, split, symbols, placement); !sized) return sized;
  if (buffers.retired.empty()) {
    pack_largest_first(buffers, placement);
  } else {
    pack_in_order(buffers, placement);
  }
  return {};
}

std::string to_string(const Placement& placement, const Buffers& buffers, const Graph& graph) {
  std::size_t count = 0;
  std::string lines;
  for (const BufferId id : buffers.arena) {
    const Buffer& buffer = buffers.items[id.index];
    if (buffer.is_scratch() && placement.sizes[id.index] == 0) continue;
    ++count;
    lines += "  ";
    if (buffer.is_scratch()) {
      lines += "scratch of step " + std::to_string(buffer.scratch_of.index);
    } else {
      lines += graph.storage(buffer.storage).name + "." + std::to_string(buffer.microbatches.first);
      if (buffer.microbatches.count() > 1) {
        lines += "-" + std::to_string(buffer.microbatches.last - 1);
      }
    }
    lines += "  " + std::to_string(placement.sizes[id.index]) + " bytes at " +
             std::to_string(placement.offsets[id.index]) + '\n';
  }
  return "placement  " + std::to_string(count) + (count == 1 ? " buffer in " : " buffers in ") +
         std::to_string(placement.arena_bytes) + " bytes\n" + lines;
}

}  // namespace dynaflow
