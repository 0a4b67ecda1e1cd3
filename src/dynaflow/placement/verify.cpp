#include "dynaflow/placement/verify.h"

#include <algorithm>
#include <limits>
#include <map>

#include "dynaflow/placement/hazards.h"

namespace dynaflow {
PlacementVerifier::PlacementVerifier(const Graph& graph, const Plan& plan, const Buffers& buffers,
                                     const HappensBefore& hb)
    : graph_(graph),
      plan_(plan),
      buffers_(buffers),
      hb_(hb),
      first_known_(buffers.items.size() * hb.lanes(), std::numeric_limits<std::uint32_t>::max()),
      last_use_(buffers.items.size() * hb.lanes(), 0) {
  one_buffer_each_ = has_one_buffer_each();
  std::vector<std::uint8_t> seen(buffers.items.size(), 0);
  for (const StepId id : hb.order()) {
    const Step& step = plan.steps[id.index];
    for (std::uint32_t i = 0; i < step.operands.count; ++i) {
      const BufferId buffer = buffers.of_operand[step.operands.first + i];
      const bool arena =
          graph.storage(buffers.items[buffer.index].storage).memory == Memory::kArena;
      if (arena && seen[buffer.index]++ == 0) by_first_use_.push_back(buffer);
      for (std::size_t lane = 0; lane < hb.lanes(); ++lane) {
        std::uint32_t& known = first_known_[buffer.index * hb.lanes() + lane];
        known = std::min(known, hb.known_at(id)[lane]);
      }
      std::uint32_t& last = last_use_[buffer.index * hb.lanes() + hb.lane(id)];
      last = std::max(last, hb.position(id) + 1);
    }
  }
}

/// Every operand is in a buffer of its own storage that holds the step's micro-batches, and no two
/// buffers of a storage hold the same one.
bool PlacementVerifier::has_one_buffer_each() const {
  const std::uint32_t mbs = plan_.microbatches();
  std::vector<BufferId> holder(graph_.storages().size() * mbs);
  for (std::size_t i = 0; i < buffers_.items.size(); ++i) {
    for (const Microbatch mb : buffers_.items[i].microbatches) {
      BufferId& held = holder[std::size_t{buffers_.items[i].storage.index} * mbs + mb.index];
      if (held.valid()) return false;
      held = id_at<BufferId>(i);
    }
  }
  for (const Step& step : plan_.steps) {
    for (std::uint32_t i = 0; i < step.operands.count; ++i) {
      const StorageId storage = graph_.value(plan_.operands(step)[i].value).storage;
      const BufferId buffer = buffers_.of_operand[step.operands.first + i];
      for (const Microbatch mb : step.microbatches) {
        if (holder[std::size_t{storage.index} * mbs + mb.index] != buffer) return false;
      }
    }
  }
  return true;
}

bool PlacementVerifier::apart(BufferId earlier, BufferId later) const {
  const std::size_t lanes = hb_.lanes();
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    if (last_use_[earlier.index * lanes + lane] > first_known_[later.index * lanes + lane]) {
      return false;
    }
  }
  return true;
}

bool PlacementVerifier::views_are_slices(const Placement& placement) const {
  const std::int64_t batch = placement.row_starts.back();
  for (const Step& step : plan_.steps) {
    const std::int64_t from = placement.row_starts[step.microbatches.first];
    const std::int64_t to = placement.row_starts[step.microbatches.last];
    for (std::uint32_t i = step.operands.first; i < step.operands.first + step.operands.count;
         ++i) {
      const Value& value = graph_.value(plan_.step_operands[i].value);
      const Storage& storage = graph_.storage(value.storage);
      if (storage.memory == Memory::kUnplaced) continue;
      const Buffer& buffer = buffers_.items[buffers_.of_operand[i].index];
      const bool split = storage.kind == Kind::kSplit;
      const std::int64_t rows = split ? to - from : storage.kind == Kind::kCoupled ? batch : 1;
      const std::int64_t skipped =
          split ? from - placement.row_starts[buffer.microbatches.first] : 0;
      const PlacedView& view = placement.views[i];
      if (view.rows != rows || view.offset != skipped * storage.row_bytes + value.offset ||
          (skipped + rows) * storage.row_bytes > placement.sizes[buffers_.of_operand[i].index]) {
        return false;
      }
    }
  }
  return true;
}

/// Buffers take their bytes in order of first use; whoever held them before must be done. Looking
/// at the last holder of a byte is enough, for being apart is transitive.
bool PlacementVerifier::neighbours_are_apart(const Placement& placement) const {
  struct Holder {
    std::int64_t end;
    BufferId buffer;
  };
  std::map<std::int64_t, Holder> held;  // by begin
  for (const BufferId buffer : by_first_use_) {
    const std::int64_t begin = placement.offsets[buffer.index];
    const std::int64_t end = begin + placement.sizes[buffer.index];
    if (begin < 0 || end > placement.arena_bytes) return false;
    if (begin == end) continue;
    auto at = held.upper_bound(begin);
    if (at != held.begin() && std::prev(at)->second.end > begin) --at;
    while (at != held.end() && at->first < end) {
      const auto [from, holder] = *at;
      if (!apart(holder.buffer, buffer)) return false;
      at = held.erase(at);
      if (from < begin) held.emplace(from, Holder{begin, holder.buffer});
      if (holder.end > end) at = held.emplace(end, holder).first;
    }
    held.emplace(begin, Holder{end, buffer});
  }
  return true;
}

std::vector<Diagnostic> PlacementVerifier::verify(const Placement& placement) const {
  if (one_buffer_each_ && views_are_slices(placement) && neighbours_are_apart(placement)) return {};
  std::vector<Diagnostic> findings;
  for (const Hazard& hazard : find_hazards(graph_, plan_, buffers_, placement, hb_)) {
    const bool outside = hazard.what == Hazard::What::kOutOfBounds;
    findings.push_back({outside ? kViewOutsideBuffer : kLiveOverlap,
                        describe(graph_, plan_, hazard), "placement of " + plan_.strategy,
                        outside ? "place views within their buffers"
                                : "let only buffers share whose uses are ordered"});
  }
  return findings;
}

}  // namespace dynaflow
